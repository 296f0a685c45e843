package picker

import (
	"math"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	// timeoutHeader is the header in which a client says how long it wants to wait.
	timeoutHeader = "x-request-timeout"
	// waitMargin is how much longer than a request waits here Envoy is asked to wait for the answer.
	waitMargin = 2 * time.Second
)

// receiver receives the messages of a stream.
type receiver struct {
	stream procv3.ExternalProcessor_ProcessServer
	ahead  *message // what is received while a request waits, or nil
}

// message is a message that is being received. Its fields may be read when done is closed.
type message struct {
	done    chan struct{}
	request *procv3.ProcessingRequest
	err     error
}

// recv returns the next message.
func (r *receiver) recv() (*procv3.ProcessingRequest, error) {
	if m := r.ahead; m != nil {
		<-m.done
		r.ahead = nil
		return m.request, m.err
	}
	return r.stream.Recv()
}

// await begins to receive the next message. The goroutine ends with the stream at the latest.
func (r *receiver) await() *message {
	m := &message{done: make(chan struct{})}
	r.ahead = m
	go func() {
		m.request, m.err = r.stream.Recv()
		close(m.done)
	}()
	return m
}

// wait waits for the decision about a request. Envoy ends the stream when the client leaves, and sends no message
// before it has its answer. An error ends the stream.
func (s *processor) wait(in *receiver, pool *pool, t *ticket) (decision, error) {
	select {
	case d := <-t.done:
		return d, nil
	default:
	}
	// Envoy waits for each answer for a short time only, and longer if it is asked to, once.
	err := in.stream.Send(&procv3.ProcessingResponse{OverrideMessageTimeout: durationpb.New(t.most + waitMargin)})
	if err != nil {
		s.picker.leave(pool, t)
		return decision{}, err
	}
	next := in.await()
	timer := time.NewTimer(max(s.picker.expire(pool, t), time.Millisecond))
	defer timer.Stop()
	for {
		select {
		case d := <-t.done:
			return d, nil
		case <-timer.C:
			timer.Reset(max(s.picker.expire(pool, t), time.Millisecond))
		case <-next.done:
			s.picker.leave(pool, t)
			if next.err != nil { // the client has left
				return decision{}, next.err
			}
			return decision{}, status.Error(codes.InvalidArgument, "a request waits, and needs its answer first")
		case <-s.ctx.Done():
			s.picker.leave(pool, t)
			return decision{}, status.Error(codes.Unavailable, "the picker is stopping")
		}
	}
}

// refuse makes the answer a refusal. Envoy gives it the form of the client's API.
func refuse(answer *procv3.ProcessingResponse, d *decision) {
	code, details := typev3.StatusCode_TooManyRequests, contract.QueueFull
	switch d.ending {
	case queue.Late:
		details = contract.QueueLate
	case queue.Share:
		details = contract.QueueShare
	case queue.Unserved:
		code, details = typev3.StatusCode_ServiceUnavailable, contract.QueueUnserved
	}
	after := strconv.Itoa(int(math.Ceil(d.after.Seconds())))
	answer.Response = &procv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &procv3.ImmediateResponse{
		Status: &typev3.HttpStatus{Code: code}, Details: details,
		Headers: &procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{
			Header:       &corev3.HeaderValue{Key: "retry-after", RawValue: []byte(after)},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}}},
	}}
	noteQueued(answer, d)
}

// noteQueued notes for the access log how long a request has waited, and in which class.
func noteQueued(answer *procv3.ProcessingResponse, d *decision) {
	if answer.DynamicMetadata == nil {
		answer.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	}
	fields := answer.DynamicMetadata.Fields
	own := fields[protocol.OwnNamespace].GetStructValue()
	if own == nil {
		own = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		fields[protocol.OwnNamespace] = structpb.NewStructValue(own)
	}
	own.Fields[protocol.QueuedKey] = structpb.NewNumberValue(float64(d.waited.Milliseconds()))
	own.Fields[protocol.ClassKey] = structpb.NewStringValue(d.class)
}
