//go:build e2e

package picker

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// extension is a picker as the Inference Extension's own: it answers when it has the whole body, sends the body back in
// parts, and sets more headers than it should.
type extension struct {
	procv3.UnimplementedExternalProcessorServer
	choice  atomic.Pointer[string]
	bodies  atomic.Int64 // bytes
	secrets atomic.Int64 // headers with credentials
	fail    atomic.Bool  // it breaks off after the headers
}

func (e *extension) Process(stream procv3.ExternalProcessor_ProcessServer) error {
	var body []byte
	for {
		r, err := stream.Recv()
		if err != nil {
			return nil // the request has ended
		}
		switch {
		case r.GetRequestHeaders() != nil:
			for _, h := range r.GetRequestHeaders().GetHeaders().GetHeaders() {
				if h.GetKey() == "authorization" || h.GetKey() == "cookie" {
					e.secrets.Add(1)
				}
			}
			if e.fail.Load() {
				return nil
			}
		case r.GetRequestBody() != nil:
			body = append(body, r.GetRequestBody().GetBody()...)
			if !r.GetRequestBody().GetEndOfStream() {
				continue
			}
			e.bodies.Add(int64(len(body)))
			for _, answer := range e.answers(body) {
				if err := stream.Send(answer); err != nil {
					return err
				}
			}
		case r.GetResponseHeaders() != nil:
			answer := &procv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &procv3.HeadersResponse{}}
			if err := stream.Send(&procv3.ProcessingResponse{Response: answer}); err != nil {
				return err
			}
		}
	}
}

func (e *extension) answers(body []byte) []*procv3.ProcessingResponse {
	set := func(name, value string) *corev3.HeaderValueOption {
		return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)}}
	}
	all := []*procv3.ProcessingResponse{{Response: &procv3.ProcessingResponse_RequestHeaders{
		RequestHeaders: &procv3.HeadersResponse{Response: &procv3.CommonResponse{
			ClearRouteCache: true,
			HeaderMutation: &procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{
				set(contract.DestinationHeader, *e.choice.Load()), set("x-from-picker", "1"),
				set(contract.PoolHeader, "another"), set("authorization", "Bearer forged")}},
		}}}}}
	const part = 62_000
	for {
		n := min(part, len(body))
		all = append(all, &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestBody{
			RequestBody: &procv3.BodyResponse{Response: &procv3.CommonResponse{BodyMutation: &procv3.BodyMutation{
				Mutation: &procv3.BodyMutation_StreamedResponse{StreamedResponse: &procv3.StreamedBodyResponse{
					Body: body[:n], EndOfStream: n == len(body)}}}}}}})
		if body = body[n:]; len(body) == 0 {
			return all
		}
	}
}

// TestBodies: a picker that reads bodies, as the Inference Extension's own, chooses the server. It gets no credentials,
// and changes nothing else. If it breaks off, the request is answered all the same, or fails: it is never sent in part.
func TestBodies(t *testing.T) {
	script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
	servers, urls := sims(t, 2, sim.Options{})
	slow, slowURL := lab.RunSim(t, sim.Options{Script: script, HoldAfter: 2})
	servers, urls = append(servers, slow), append(urls, slowURL)
	e := &extension{}
	choose := func(i int) {
		address := strings.TrimPrefix(urls[i], "http://")
		e.choice.Store(&address)
	}
	choose(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	procv3.RegisterExternalProcessorServer(g, e)
	go func() { _ = g.Serve(l) }() // it ends with the test
	t.Cleanup(g.Stop)
	c := pickedOf(config.Picker{URL: "http://" + l.Addr().String(), Send: config.SendBodies}, urls...)
	host := lab.RunEnvoy(t, c)
	client := lab.HTTP1(t)
	secrets := http.Header{"Authorization": {"Bearer secret"}, "Cookie": {"secret"}}
	for _, words := range []int{1, 60_000} {
		body := lab.ChatBody("gpt-oss-120b", strings.Repeat("word ", words))
		if a := post(client, host.URL, body, secrets); a.Status != 200 {
			t.Fatalf("%d words: got %+v", words, a)
		}
	}
	if counts := servedBy(servers); counts[1] != 2 {
		t.Errorf("the servers have got %v requests", counts)
	}
	for _, r := range servers[1].Requests() {
		if r.Header.Get("x-from-picker") != "" || r.Header.Get("authorization") != "" {
			t.Errorf("a server has got %v", r.Header)
		}
	}
	if e.secrets.Load() != 0 || e.bodies.Load() < 120_000 {
		t.Errorf("the picker has got %d headers with credentials and %d bytes", e.secrets.Load(), e.bodies.Load())
	}
	choose(2)
	running := begin(slow, client, host.URL)
	e.fail.Store(true)
	for _, words := range []int{1, 60_000} {
		lab.WantRefused(t, post(client, host.URL, lab.ChatBody("gpt-oss-120b", strings.Repeat("word ", words)), nil), 503,
			"server_unavailable")
	}
	g.Stop()
	lab.WantRefused(t, post(client, host.URL, lab.ChatBody("gpt-oss-120b", "Hi"), nil), 503, "server_unavailable")
	slow.Release()
	if a := <-running; a.Status != 200 || a.Err != nil {
		t.Errorf("the picker died while an answer ran: got %d %s %v", a.Status, a.Body, a.Err)
	}
	if counts := servedBy(servers); counts[1] != 2 || counts[2] != 1 || counts[0] != 0 {
		t.Errorf("the servers have got %v requests", counts)
	}
}

// begin sends a request, and returns when the server has it.
func begin(server *sim.Server, client *http.Client, base string) <-chan lab.Answer {
	answer, before := make(chan lab.Answer, 1), len(lab.Completions(server))
	go func() { answer <- post(client, base, lab.ChatBody("gpt-oss-120b", "Hi"), nil) }()
	for len(lab.Completions(server)) == before {
		time.Sleep(time.Millisecond)
	}
	return answer
}
