package ads

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/harmonyedge/harmonyedge/internal/memlog"
)

// startServer returns a server with resources, its address, and its log.
func startServer(t *testing.T, o Options) (*Server, string, *memlog.Log) {
	t.Helper()
	log := &memlog.Log{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	s := New(o)
	set(t, s, testResources(t, 1, "a", "b"))
	return s, serve(t, s), log
}

// expectRefusal waits for the end of the stream, and checks the code and the text of its status.
func (c *client) expectRefusal(code codes.Code, text string) {
	c.t.Helper()
	for {
		_, err := c.stream.Recv()
		if err == nil {
			continue // a response that was sent earlier
		}
		if got := status.Convert(err); got.Code() != code || !strings.Contains(got.Message(), text) ||
			len(got.Message()) > 300 {
			c.t.Errorf("ended with %.400v, want %v: %s", err, code, text)
		}
		return
	}
}

func TestLongNode(t *testing.T) {
	_, address, log := startServer(t, Options{})
	for _, tt := range []struct {
		node  *corev3.Node
		code  codes.Code
		words string
	}{
		{&corev3.Node{Id: strings.Repeat("i", 10<<20)}, codes.ResourceExhausted, ""},
		{&corev3.Node{Id: strings.Repeat("i", 1<<20)}, codes.InvalidArgument,
			"the node's id is 1048576 bytes long, and may have 512: shorten node.id in the bootstrap"},
		{&corev3.Node{Id: "one", Cluster: strings.Repeat("i", 513)}, codes.InvalidArgument, "shorten node.cluster"},
	} {
		c := connect(t, address, "")
		if err := c.stream.Send(&discovery.DeltaDiscoveryRequest{Node: tt.node, TypeUrl: resource.ClusterType}); err != nil {
			t.Fatal(err)
		}
		c.expectRefusal(tt.code, tt.words)
	}
	if logged := log.String(); len(logged) > 1000 || strings.Contains(logged, "iii") {
		t.Errorf("%d bytes are logged: %.2000s", len(logged), logged)
	}
}

// TestManyNames checks that a peer that makes up names is refused, whichever way it does so, before the names cost much
// memory.
func TestManyNames(t *testing.T) {
	const million, each = 1_000_000, 10_000
	batch := func(from int) []string {
		names := make([]string, each)
		for i := range names {
			names[i] = fmt.Sprintf("name-%d", from+i)
		}
		return names
	}
	versions := func(names []string) map[string]string {
		m := map[string]string{}
		for _, name := range names {
			m[name] = "1"
		}
		return m
	}
	var all []string
	for from := 0; from < 20_000; from += each {
		all = append(all, batch(from)...)
	}
	for name, request := range map[string]func(from int) *discovery.DeltaDiscoveryRequest{
		"of endpoints": func(from int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNamesSubscribe: batch(from)}
		},
		"that it does not want": func(from int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType, ResourceNamesUnsubscribe: batch(from)}
		},
		"of a type that is not served": func(from int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/strange", ResourceNamesSubscribe: batch(from)}
		},
		"of all types": func(from int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{TypeUrl: order[from/each%len(order)], ResourceNamesSubscribe: batch(from)}
		},
		"at once": func(int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNamesSubscribe: all}
		},
		"as held": func(int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType, InitialResourceVersions: versions(all)}
		},
		"of a megabyte": func(int) *discovery.DeltaDiscoveryRequest {
			return &discovery.DeltaDiscoveryRequest{
				TypeUrl: resource.EndpointType, ResourceNamesSubscribe: []string{strings.Repeat("n", 1<<20)}}
		},
	} {
		s, address, log := startServer(t, Options{})
		c := connect(t, address, "one")
		var reading sync.WaitGroup // it reads while the requests are written; otherwise both sides would wait for each other
		reading.Go(func() { c.expectRefusal(codes.InvalidArgument, "resource") })
		for from := 0; from < million; from += each {
			r := request(from)
			r.Node = &corev3.Node{Id: "one"}
			if c.stream.Send(r) != nil {
				break
			}
		}
		reading.Wait()
		if logged := log.String(); len(logged) > 3000 {
			t.Errorf("%s: %d bytes are logged", name, len(logged))
		}
		eventually(t, s, "gone", func(all []Envoy) bool { return len(all) == 0 })
	}
}

// TestManyStreams opens more streams than a connection may have, without waiting for the server's settings as a real
// client does.
func TestManyStreams(t *testing.T) {
	_, address, _ := startServer(t, Options{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(6 * testTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	const streams = 3000
	reset := make(chan int, 1)
	go func() { // it reads while the streams are opened; otherwise both sides would wait for each other
		refused := 0
		for refused < streams-maxStreams {
			frame, err := framer.ReadFrame()
			if err != nil {
				break
			}
			if r, ok := frame.(*http2.RSTStreamFrame); ok && r.ErrCode == http2.ErrCodeRefusedStream {
				refused++
			}
		}
		reset <- refused
	}()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range uint32(streams) {
		block.Reset()
		for _, h := range [][2]string{
			{":method", "POST"}, {":scheme", "http"},
			{":path", "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"},
			{":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*i + 1, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
			break // the server may have closed the connection instead
		}
	}
	if refused := <-reset; refused != streams-maxStreams {
		t.Errorf("%d of %d streams are refused, want all but %d", refused, streams, maxStreams)
	}
}

func TestTooManyEnvoys(t *testing.T) {
	s, address, log := startServer(t, Options{MaxEnvoys: 2})
	first := connect(t, address, "one")
	for _, c := range []*client{first, connect(t, address, "two")} {
		c.subscribe(resource.ClusterType)
		c.receive(resource.ClusterType)
	}
	for range 3 {
		third := connect(t, address, "three")
		third.expectRefusal(codes.ResourceExhausted,
			"2 Envoys are connected, which is the most that this control plane serves: see --max-envoys")
		third.close()
	}
	if n := strings.Count(log.String(), "is refused"); n < 1 || n > 2 {
		t.Errorf("refusals of a moment are told of %d times:\n%s", n, log)
	}
	first.close()
	eventually(t, s, "one has left", func(all []Envoy) bool { return len(all) == 1 })
	third := connect(t, address, "three")
	third.subscribe(resource.ClusterType)
	third.receive(resource.ClusterType)
}

// TestUnansweredResponses checks that a peer is refused that asks for the same names again and again and answers no
// response.
func TestUnansweredResponses(t *testing.T) {
	_, address, _ := startServer(t, Options{})
	c := connect(t, address, "one")
	for range 2 * maxUnanswered {
		if c.stream.Send(&discovery.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: "one"}, TypeUrl: resource.EndpointType, ResourceNamesSubscribe: []string{"a", "b"}}) != nil {
			break
		}
	}
	c.expectRefusal(codes.InvalidArgument, "are not answered: accept or refuse them before asking for more")
}

func TestUnknownTypes(t *testing.T) {
	_, address, log := startServer(t, Options{})
	c := connect(t, address, "one")
	for i := range 1000 {
		if c.stream.Send(&discovery.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: "one"}, TypeUrl: fmt.Sprintf("strange.%d", i)}) != nil {
			break
		}
	}
	c.expectRefusal(codes.InvalidArgument, "asks for more than 32 types that are not served here")
	if n := strings.Count(log.String(), "a type that is not served\""); n != maxUnknownTypes {
		t.Errorf("logged %d times", n)
	}
}

func TestSilentStreams(t *testing.T) {
	s := New(Options{})
	s.firstRequestTimeout = 100 * time.Millisecond
	set(t, s, testResources(t, 1, "a"))
	address := serve(t, s)
	c := connect(t, address, "one")
	c.subscribe(resource.ClusterType)
	c.receive(resource.ClusterType)
	silent := connect(t, address, "silent")
	silent.expectRefusal(codes.DeadlineExceeded, "no request on this stream within 100ms")
	// After its first request a stream may be silent for longer than that.
	if len(s.Envoys()) != 1 {
		t.Error("an Envoy that has asked for something is let go for its silence")
	}
	c.subscribe(resource.EndpointType, "a")
	c.receive(resource.EndpointType)
}

// TestErrorText checks that control characters do not reach terminals and logs, from an Envoy's description of itself
// or from its error texts.
func TestErrorText(t *testing.T) {
	const escapes = "\x1b[31mred\x1b[0m\r\nlevel=ERROR msg=forged \u202e\x00\u009b"
	s, address, log := startServer(t, Options{})
	c := connect(t, address, "")
	send := func(r *discovery.DeltaDiscoveryRequest) {
		t.Helper()
		r.Node = &corev3.Node{Id: "id " + escapes, Cluster: escapes,
			UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: escapes + strings.Repeat("v", 1<<16)}}
		if err := c.stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	send(&discovery.DeltaDiscoveryRequest{TypeUrl: "strange " + escapes})
	send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType})
	r := c.receive(resource.ClusterType)
	c.id = "id"
	c.nack(r, escapes+strings.Repeat("!", 1<<20))
	eventually(t, s, "refused", func(all []Envoy) bool { return len(all) == 1 && all[0].Refuses() })
	e := s.Envoys()[0]
	for _, text := range []string{e.ID, e.Cluster, e.Version, e.Types["clusters"].Error} {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len(text) > maxErrorText ||
			!strings.Contains(text, "[31mred") {
			t.Errorf("%.2000q", text)
		}
	}
	if len(e.Version) > maxVersion {
		t.Errorf("a version of %d bytes", len(e.Version))
	}
	logged := log.String()
	for line := range strings.Lines(logged) {
		if !strings.HasPrefix(line, "time=") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) ||
			len(line) > 3000 {
			t.Errorf("logged: %.4000q", line)
		}
	}
}
