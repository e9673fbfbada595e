// Command interop attaches an interceptor chain to servers: the real MCP client of the Go SDK,
// and our own restatement of how the chain of the interceptors Go SDK reads descriptors and
// results and what it makes of them (that module is not published).
//
// It reads one JSON object a line from standard input and answers each with one on standard
// output: {"op": "attach" | "execute" | "detach" | "descriptors" | "result", ...}.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var dialects = map[string]dialect{
	"hook":  dialectOf[hookDescriptor](),
	"hooks": dialectOf[hooksDescriptor](),
}

var protocols = map[string]string{"legacy": "2025-11-25", "auto": ""}

// question is one line of input; each op has its own members.
type question struct {
	Op      string          `json:"op"`
	Chain   int             `json:"chain"`
	URL     string          `json:"url"`
	Era     string          `json:"era"`
	Decoder string          `json:"decoder"`
	Answer  json.RawMessage `json:"answer"`
	invocation
}

type answer map[string]any

type program struct {
	chains map[int]*chain
	next   int
}

func (p *program) reply(ctx context.Context, q question) (any, error) {
	switch q.Op {
	case "attach":
		return p.attach(ctx, q)
	case "execute":
		return p.chains[q.Chain].run(ctx, q.invocation), nil
	case "detach":
		session := p.chains[q.Chain].session
		delete(p.chains, q.Chain)
		return answer{}, session.Close()
	case "descriptors":
		entries, err := dialects[q.Decoder].decode(q.Answer)
		return hooked(entries), err
	case "result":
		var result invokeResult
		err := json.Unmarshal(q.Answer, &result)
		return answer{"outcome": result.outcome()}, err
	}
	return nil, fmt.Errorf("unknown op `%s`", q.Op)
}

func (p *program) attach(ctx context.Context, q question) (any, error) {
	chosen := dialects[q.Decoder]
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1.0.0"}, nil)
	err := errors.Join(
		chosen.register(client),
		mcp.AddSendingCustomMethod[*invokeParams, *invokeResult](client, methodInvoke))
	if err != nil {
		return nil, err
	}
	transport := &mcp.StreamableClientTransport{Endpoint: q.URL}
	options := &mcp.ClientSessionOptions{ProtocolVersion: protocols[q.Era]}
	session, err := client.Connect(ctx, transport, options)
	if err != nil {
		return nil, err
	}
	entries, err := chosen.list(ctx, session)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	p.next++
	p.chains[p.next] = &chain{session: session, entries: entries}
	protocol := session.InitializeResult().ProtocolVersion
	return answer{"chain": p.next, "protocol": protocol}, nil
}

// hooked are the names of the interceptors that would be called at a request of tools/call.
func hooked(entries []entry) answer {
	found := []string{}
	for _, e := range entries {
		if (e.Type == "validation" || e.Type == "mutation") && e.matches("tools/call", "request") {
			found = append(found, e.Name)
		}
	}
	return answer{"hooked": found}
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	p := &program{chains: map[int]*chain{}}
	input, output := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q question
		if err := input.Decode(&q); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		reply, err := p.reply(ctx, q)
		if err != nil {
			reply = answer{"error": err.Error()}
		}
		if err := output.Encode(reply); err != nil {
			log.Fatal(err)
		}
	}
}
