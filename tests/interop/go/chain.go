package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// abort names an interceptor that stopped a chain.
type abort struct {
	Interceptor string `json:"interceptor"`
	Reason      string `json:"reason"`
	Type        string `json:"type"`
}

// finding is a message of an interceptor.
type finding struct {
	Interceptor string `json:"interceptor"`
	message
}

// failure is an interceptor that gave no result; code is 0 when the result could not be read.
type failure struct {
	Interceptor string          `json:"interceptor"`
	Code        int64           `json:"code"`
	Message     string          `json:"message"`
	Data        json.RawMessage `json:"data,omitempty"`
}

// execution is how a chain went. FinalPayload is unset when nothing was mutated.
type execution struct {
	Status       string          `json:"status"`
	FinalPayload json.RawMessage `json:"finalPayload,omitempty"`
	Aborts       []abort         `json:"aborts"`
	Findings     []finding       `json:"findings"`
	Failures     []failure       `json:"failures"`
	Called       []string        `json:"called"`
}

// invocation is what a chain is asked about.
type invocation struct {
	Event   string          `json:"event"`
	Phase   string          `json:"phase"`
	Payload json.RawMessage `json:"payload"`
	Context json.RawMessage `json:"context"`
}

// chain runs the interceptors of one server, which it listed once and never again.
type chain struct {
	session *mcp.ClientSession
	entries []entry
}

// run executes the chain: requests are validated and then mutated, responses the other way.
func (c *chain) run(ctx context.Context, asked invocation) execution {
	r := &run{chain: c, ctx: ctx, asked: asked, current: asked.Payload}
	r.done = execution{
		Status: "success", Aborts: []abort{}, Findings: []finding{},
		Failures: []failure{}, Called: []string{},
	}
	first, second := r.validate, r.mutate
	if asked.Phase == "response" {
		first, second = r.mutate, r.validate
	}
	if first() {
		second()
	}
	return r.done
}

// run is one execution under way.
type run struct {
	chain   *chain
	ctx     context.Context
	asked   invocation
	current json.RawMessage
	done    execution
}

// matching are the entries of one type at this event; types it does not know are skipped.
func (r *run) matching(kind string) []entry {
	var found []entry
	for _, e := range r.chain.entries {
		if e.Type == kind && e.matches(r.asked.Event, r.asked.Phase) {
			found = append(found, e)
			r.done.Called = append(r.done.Called, e.Name)
		}
	}
	return found
}

func (r *run) invoke(e entry) (*invokeResult, error) {
	return mcp.CallCustomMethod[*invokeParams, *invokeResult](
		r.ctx, r.chain.session, methodInvoke, &invokeParams{
			Name: e.Name, Event: r.asked.Event, Phase: r.asked.Phase,
			Payload: r.current, Context: r.asked.Context,
		})
}

// stop aborts for an error, unless the entry fails open. It does not look at the mode.
func (r *run) stop(e entry, err error, status string) bool {
	failed := failure{Interceptor: e.Name, Message: err.Error()}
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		failed.Code, failed.Message, failed.Data = refused.Code, refused.Message, refused.Data
	}
	r.done.Failures = append(r.done.Failures, failed)
	if !e.FailOpen {
		r.abort(e, failed.Message, status)
	}
	return !e.FailOpen
}

func (r *run) abort(e entry, reason, status string) {
	r.done.Status = status
	r.done.Aborts = append(r.done.Aborts, abort{e.Name, reason, e.Type})
}

// validate asks all validators at once and waits for all of them.
func (r *run) validate() bool {
	validators := r.matching("validation")
	results := make([]*invokeResult, len(validators))
	failed := make([]error, len(validators))
	var group sync.WaitGroup
	for i, e := range validators {
		group.Go(func() { results[i], failed[i] = r.invoke(e) })
	}
	group.Wait()
	for i, e := range validators {
		if failed[i] != nil {
			r.stop(e, failed[i], "validation_failed")
			continue
		}
		r.judge(e, results[i].Validation)
	}
	return r.done.Status == "success"
}

// judge records a verdict; one that the decoder did not find is none, and stops nothing.
func (r *run) judge(e entry, verdict *validation) {
	if verdict == nil {
		return
	}
	for _, m := range verdict.Messages {
		r.done.Findings = append(r.done.Findings, finding{e.Name, m})
	}
	if reason, blocks := verdict.blocks(); blocks && e.Mode != "audit" {
		r.abort(e, reason, "validation_failed")
	}
}

// mutate lets one mutator after the other replace the payload, or none at all.
func (r *run) mutate() bool {
	mutators := r.matching("mutation")
	slices.SortStableFunc(mutators, func(a, b entry) int {
		phase := r.asked.Phase
		return cmp.Or(
			cmp.Compare(a.PriorityHint.at(phase), b.PriorityHint.at(phase)),
			cmp.Compare(a.Name, b.Name))
	})
	mutated := false
	for _, e := range mutators {
		result, err := r.invoke(e)
		if err != nil {
			if r.stop(e, err, "mutation_failed") {
				return false
			}
			continue
		}
		if result.replaces() && e.Mode != "audit" {
			r.current, mutated = result.Payload, true
		}
	}
	if mutated {
		r.done.FinalPayload = r.current
	}
	return true
}
