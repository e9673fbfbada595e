package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodList   = "interceptors/list"
	methodInvoke = "interceptor/invoke"
)

// hook says at which events of which phase an interceptor runs; phase may be "both".
type hook struct {
	Events []string `json:"events"`
	Phase  string   `json:"phase"`
}

// matches compares the event literally: this chain knows no wildcards.
func (h hook) matches(event, phase string) bool {
	return (h.Phase == phase || h.Phase == "both") && slices.Contains(h.Events, event)
}

// priority is one integer, or one for each phase.
type priority struct {
	Request  int `json:"request"`
	Response int `json:"response"`
}

func (p *priority) UnmarshalJSON(data []byte) error {
	type phases priority
	if len(data) > 0 && data[0] == '{' {
		return json.Unmarshal(data, (*phases)(p))
	}
	var both int
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	*p = priority{Request: both, Response: both}
	return nil
}

func (p priority) at(phase string) int {
	if phase == "response" {
		return p.Response
	}
	return p.Request
}

// metadata is what both generations read of a descriptor. Nothing is required.
type metadata struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	Description  string          `json:"description"`
	Type         string          `json:"type"`
	Mode         string          `json:"mode"`
	FailOpen     bool            `json:"failOpen"`
	PriorityHint priority        `json:"priorityHint"`
	ConfigSchema json.RawMessage `json:"configSchema"`
}

// hookDescriptor is the older generation's: one hook, and no idea of `hooks`.
type hookDescriptor struct {
	metadata
	Hook hook `json:"hook"`
}

// hooksDescriptor is the newer generation's: a list, and no idea of `hook`.
type hooksDescriptor struct {
	metadata
	Hooks []hook `json:"hooks"`
}

// entry is a descriptor of either generation as the chain keeps it.
type entry struct {
	metadata
	hooks []hook
}

func (e entry) matches(event, phase string) bool {
	return slices.ContainsFunc(e.hooks, func(h hook) bool { return h.matches(event, phase) })
}

func (d hookDescriptor) entry() entry  { return entry{d.metadata, []hook{d.Hook}} }
func (d hooksDescriptor) entry() entry { return entry{d.metadata, d.Hooks} }

type listParams struct{ mcp.ParamsBase }

type listResult[D interface{ entry() entry }] struct {
	mcp.ResultBase
	Interceptors []D `json:"interceptors"`
}

func (r *listResult[D]) entries() []entry {
	kept := make([]entry, 0, len(r.Interceptors))
	for _, descriptor := range r.Interceptors {
		kept = append(kept, descriptor.entry())
	}
	return kept
}

type invokeParams struct {
	mcp.ParamsBase
	Name    string          `json:"name"`
	Event   string          `json:"event"`
	Phase   string          `json:"phase"`
	Payload json.RawMessage `json:"payload"`
	Context json.RawMessage `json:"context,omitempty"`
}

type message struct {
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

// validation stands nested in a result; members beside it are not looked at.
type validation struct {
	Valid    bool      `json:"valid"`
	Severity string    `json:"severity"`
	Messages []message `json:"messages"`
}

// blocks tells whether a verdict stops a chain, and why: by a message, not by its severity.
func (v *validation) blocks() (string, bool) {
	if v == nil || v.Valid {
		return "", false
	}
	at := slices.IndexFunc(v.Messages, func(m message) bool { return m.Severity == "error" })
	if at < 0 {
		return "", false
	}
	return v.Messages[at].Message, true
}

// invokeResult holds the verdict nested, and the new payload on top.
type invokeResult struct {
	mcp.ResultBase
	Interceptor string          `json:"interceptor"`
	Type        string          `json:"type"`
	Phase       string          `json:"phase"`
	DurationMs  int64           `json:"durationMs"`
	Validation  *validation     `json:"validation"`
	Payload     json.RawMessage `json:"payload"`
}

// outcome is what a chain makes of a result.
func (r invokeResult) outcome() string {
	if _, blocks := r.Validation.blocks(); blocks {
		return "blocks"
	}
	if r.replaces() {
		return "replaces"
	}
	return "passes"
}

// replaces tells whether there is a payload; whether it was modified is not looked at.
func (r invokeResult) replaces() bool { return r.Payload != nil }

// dialect is what differs between the generations.
type dialect struct {
	register func(*mcp.Client) error
	list     func(context.Context, *mcp.ClientSession) ([]entry, error)
	decode   func(json.RawMessage) ([]entry, error)
}

func dialectOf[D interface{ entry() entry }]() dialect {
	return dialect{
		register: func(client *mcp.Client) error {
			return mcp.AddSendingCustomMethod[*listParams, *listResult[D]](client, methodList)
		},
		list: func(ctx context.Context, session *mcp.ClientSession) ([]entry, error) {
			result, err := mcp.CallCustomMethod[*listParams, *listResult[D]](
				ctx, session, methodList, &listParams{})
			if err != nil {
				return nil, err
			}
			return result.entries(), nil
		},
		decode: func(text json.RawMessage) ([]entry, error) {
			var result listResult[D]
			err := json.Unmarshal(text, &result)
			return result.entries(), err
		},
	}
}
