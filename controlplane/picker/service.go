package picker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// processor answers Envoy's ext_proc filter.
type processor struct {
	procv3.UnimplementedExternalProcessorServer
	picker  *Picker
	metrics *metrics
	log     *slog.Logger
	ctx     context.Context // the program's
}

// Process implements [procv3.ExternalProcessorServer]. A stream is one request. Envoy ends it when the request has
// ended.
func (s *processor) Process(stream procv3.ExternalProcessor_ProcessServer) error {
	var chosen *choice
	defer func() {
		if chosen != nil {
			chosen.end()
		}
	}()
	in := &receiver{stream: stream}
	for {
		request, err := in.recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case s.ctx.Err() != nil:
			return status.Error(codes.Unavailable, "the picker is stopping")
		}
		answer := &procv3.ProcessingResponse{}
		switch r := request.GetRequest().(type) {
		case *procv3.ProcessingRequest_RequestHeaders:
			if chosen != nil {
				return status.Error(codes.InvalidArgument, "a request has its headers once")
			}
			if chosen, err = s.headers(in, request, answer); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		case *procv3.ProcessingRequest_RequestBody:
			answer.Response = &procv3.ProcessingResponse_RequestBody{RequestBody: passed(r.RequestBody)}
		case *procv3.ProcessingRequest_RequestTrailers:
			answer.Response = &procv3.ProcessingResponse_RequestTrailers{RequestTrailers: &procv3.TrailersResponse{}}
		case *procv3.ProcessingRequest_ResponseHeaders:
			if chosen != nil {
				chosen.answered(served(request))
			}
			answer.Response = &procv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &procv3.HeadersResponse{}}
		case *procv3.ProcessingRequest_ResponseBody:
			answer.Response = &procv3.ProcessingResponse_ResponseBody{ResponseBody: passed(r.ResponseBody)}
		case *procv3.ProcessingRequest_ResponseTrailers:
			answer.Response = &procv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: &procv3.TrailersResponse{}}
		default:
			return status.Error(codes.InvalidArgument, "the message is of no known kind")
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// passed returns the answer to a part of a body: the same part. Nobody needs to send bodies here.
func passed(b *procv3.HttpBody) *procv3.BodyResponse {
	return &procv3.BodyResponse{Response: &procv3.CommonResponse{BodyMutation: &procv3.BodyMutation{
		Mutation: &procv3.BodyMutation_StreamedResponse{StreamedResponse: &procv3.StreamedBodyResponse{
			Body: b.GetBody(), EndOfStream: b.GetEndOfStream()}}}}}
}

// headers chooses the servers for a request and writes them into the answer. Without a server, the answer to one of our
// Envoys names none, and Envoy's own policy chooses, also among the pool's spares. Others get the 503 that the protocol
// asks for. If the pool has a queue, it may take until there is a server with room, or the request is refused.
func (s *processor) headers(in *receiver, request *procv3.ProcessingRequest, answer *procv3.ProcessingResponse,
) (*choice, error) {
	begin := time.Now()
	ours := true
	pool := s.picker.only()
	if name := metadata.ValueFromIncomingContext(in.stream.Context(), protocol.PoolKey); len(name) == 1 {
		pool = s.picker.pool(name[0])
	} else {
		ours = false
	}
	headers := request.GetRequestHeaders().GetHeaders()
	var c *choice
	switch cost, counted := parseCost(valueOf(headers, contract.CostHeader)); {
	case pool == nil:
		s.metrics.unknown()
		s.log.Debug("a request of a pool that this picker does not know", "ours", ours)
	case ours && counted && pool.hasQueue():
		timeout, ok := parseTimeout(valueOf(headers, timeoutHeader))
		if !ok {
			timeout = -1
		}
		t := s.picker.ask(pool, blocksOf(headers), cost, timeout)
		s.metrics.took(time.Since(begin))
		d, err := s.wait(in, pool, t)
		if err != nil || d.ending.Refused() {
			refuse(answer, &d)
			return nil, err
		}
		named(answer, d.choice)
		noteQueued(answer, &d)
		return d.choice, nil
	default:
		c = s.picker.choose(pool, blocksOf(headers), subset(request))
	}
	if c == nil && !ours {
		answer.Response = &procv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &procv3.ImmediateResponse{
			Status: &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable}, Details: "no_server"}}
	} else {
		named(answer, c)
	}
	s.metrics.took(time.Since(begin))
	return c, nil
}

// named makes the answer name the chosen servers. c may be nil.
func named(answer *procv3.ProcessingResponse, c *choice) {
	headers := &procv3.HeadersResponse{}
	answer.Response = &procv3.ProcessingResponse_RequestHeaders{RequestHeaders: headers}
	if c == nil {
		return
	}
	var b []byte
	for i, a := range c.named {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.AppendTo(b)
	}
	headers.Response = &procv3.CommonResponse{HeaderMutation: &procv3.HeaderMutation{
		SetHeaders: []*corev3.HeaderValueOption{{
			Header:       &corev3.HeaderValue{Key: contract.DestinationHeader, RawValue: b},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}}
	answer.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{
		protocol.Namespace:    oneField(contract.DestinationHeader, string(b)),
		protocol.OwnNamespace: oneField(protocol.ReasonKey, string(c.reason)),
	}}
}

func oneField(name, value string) *structpb.Value {
	return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		name: structpb.NewStringValue(value)}})
}

// blocksOf returns the hashes of the prompt's blocks, or nil if there are none or one of them is none.
func blocksOf(headers *corev3.HeaderMap) []uint64 {
	return ParseBlocks(valueOf(headers, contract.BlocksHeader))
}

// valueOf returns the first value of a header, or "".
func valueOf(headers *corev3.HeaderMap, name string) string {
	for _, h := range headers.GetHeaders() {
		if h.GetKey() == name {
			if len(h.GetRawValue()) > 0 {
				return string(h.GetRawValue())
			}
			return h.GetValue()
		}
	}
	return ""
}

// ParseBlocks returns the hashes in the value of a [contract.BlocksHeader], at most 4,096. It returns nil if one of
// them is not a hash.
func ParseBlocks(text string) []uint64 {
	const digits = 16
	if text == "" {
		return nil
	}
	all := make([]uint64, 0, min(len(text)/(digits+1)+1, maxChain))
	for part := range strings.SplitSeq(text, ",") {
		hash, err := strconv.ParseUint(part, 16, 64)
		if len(part) != digits || err != nil {
			return nil
		}
		if all = append(all, hash); len(all) == maxChain {
			break
		}
	}
	return all
}

// served returns the server that has answered, if Envoy says it.
func served(request *procv3.ProcessingRequest) netip.AddrPort {
	text := request.GetMetadataContext().GetFilterMetadata()[protocol.Namespace].GetFields()[protocol.Served]
	a, _ := netip.ParseAddrPort(text.GetStringValue())
	return a
}

// subset returns a function that reports whether a server may be chosen, or nil if all may. An address without a port
// means all its ports.
func subset(request *procv3.ProcessingRequest) func(netip.AddrPort) bool {
	only, ok := request.GetMetadataContext().GetFilterMetadata()[protocol.SubsetNamespace].GetFields()[protocol.SubsetKey]
	if !ok {
		return nil
	}
	allowed, machines := map[netip.AddrPort]bool{}, map[netip.Addr]bool{}
	add := func(text string) {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if a, err := netip.ParseAddrPort(part); err == nil {
				allowed[a] = true
			} else if ip, err := netip.ParseAddr(part); err == nil {
				machines[ip] = true
			}
		}
	}
	// Proxies that take the value from a header have one text, and no list.
	add(only.GetStringValue())
	for _, one := range only.GetListValue().GetValues() {
		add(one.GetStringValue())
	}
	return func(a netip.AddrPort) bool { return allowed[a] || machines[a.Addr()] }
}
