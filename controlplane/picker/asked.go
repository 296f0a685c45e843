package picker

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The method by which a control plane asks a picker for its queues, at the address that Envoys ask. The answer is JSON
// in bytes: [QueueStatus] by pool.
const (
	statusService = "harmony.picker.v1.Status"
	queuesMethod  = "Queues"
	// maxStatus is the largest answer that is read, in bytes. A class takes some 300.
	maxStatus = 1 << 20
)

// statusDesc describes the service. It has no types of its own, so it needs no generated code.
var statusDesc = grpc.ServiceDesc{ServiceName: statusService, HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: queuesMethod, Handler: serveQueues}}}

// serveQueues answers with the queues. server is a [Picker].
func serveQueues(server any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	if err := decode(&emptypb.Empty{}); err != nil {
		return nil, err
	}
	all := map[string]*QueueStatus{}
	for name, one := range server.(*Picker).status() {
		if one.queue != nil {
			all[name] = one.queue
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return wrapperspb.Bytes(text), nil
}

// AskQueues asks a picker for its queues, by pool. The error of a picker that does not know the question has the code
// Unimplemented.
func AskQueues(ctx context.Context, picker grpc.ClientConnInterface) (map[string]*QueueStatus, error) {
	answer := &wrapperspb.BytesValue{}
	err := picker.Invoke(ctx, "/"+statusService+"/"+queuesMethod, &emptypb.Empty{}, answer,
		grpc.MaxCallRecvMsgSize(maxStatus))
	if err != nil {
		return nil, err
	}
	var all map[string]*QueueStatus
	if err := json.Unmarshal(answer.GetValue(), &all); err != nil {
		return nil, fmt.Errorf("the picker's answer cannot be read: %w", err)
	}
	for name, q := range all {
		if q == nil {
			delete(all, name)
		}
	}
	return all, nil
}
