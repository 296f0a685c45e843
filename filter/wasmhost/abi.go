package wasmhost

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostcall is one function of the ABI. Each of them returns a [Status].
type hostcall struct {
	name string
	// params has one letter for each parameter: i for 32 bits, I for 64 bits.
	params string
	call   func(v *vm, a []uint64) Status
}

// hostcalls are the functions that Envoy offers to a module of proxy-wasm 0.2. A module that imports any other cannot
// start.
var hostcalls = []hostcall{
	{"proxy_log", "iii", writeLog},
	{"proxy_get_log_level", "i", func(v *vm, a []uint64) Status { return v.writeUint32(uint32(Trace), a[0]) }},
	{"proxy_get_current_time_nanoseconds", "i", func(v *vm, a []uint64) Status {
		return v.writeUint64(uint64(v.worker.host.options.Now().UnixNano()), a[0])
	}},
	{"proxy_set_tick_period_milliseconds", "i", setTickPeriod},
	{"proxy_set_effective_context", "i", setEffectiveContext},
	// proxy_done is for filters whose plugin ends later than asked. Here the plugin ends with its worker.
	{"proxy_done", "", func(*vm, []uint64) Status { return StatusNotFound }},
	{"proxy_get_status", "iii", getStatus},

	{"proxy_get_header_map_value", "iiiii", getHeader},
	{"proxy_add_header_map_value", "iiiii", addHeader},
	{"proxy_replace_header_map_value", "iiiii", replaceHeader},
	{"proxy_remove_header_map_value", "iii", removeHeader},
	{"proxy_get_header_map_pairs", "iii", getHeaders},
	{"proxy_set_header_map_pairs", "iii", setHeaders},
	{"proxy_get_header_map_size", "ii", getHeadersSize},

	{"proxy_get_buffer_bytes", "iiiii", getBuffer},
	{"proxy_get_buffer_status", "iii", getBufferStatus},
	{"proxy_set_buffer_bytes", "iiiii", setBuffer},

	{"proxy_continue_stream", "i", continueStream},
	{"proxy_close_stream", "i", closeStream},
	{"proxy_send_local_response", "iiiiiiii", sendLocalResponse},

	{"proxy_get_property", "iiii", getProperty},
	{"proxy_set_property", "iiii", setProperty},

	{"proxy_define_metric", "iiii", defineMetric},
	{"proxy_increment_metric", "iI", incrementMetric},
	{"proxy_record_metric", "iI", recordMetric},
	{"proxy_get_metric", "ii", getMetric},

	{"proxy_get_shared_data", "iiiii", getSharedData},
	{"proxy_set_shared_data", "iiiii", setSharedData},
	{"proxy_register_shared_queue", "iii", registerQueue},
	{"proxy_resolve_shared_queue", "iiiii", resolveQueue},
	{"proxy_enqueue_shared_queue", "iii", enqueue},
	{"proxy_dequeue_shared_queue", "iii", dequeue},

	{"proxy_http_call", "iiiiiiiiii", httpCall},
	{"proxy_call_foreign_function", "iiiiii", callForeign},

	// This host has no gRPC. A module that imports these functions can start, and each call returns "unimplemented".
	{"proxy_grpc_call", "iiiiiiiiiiii", unimplemented},
	{"proxy_grpc_stream", "iiiiiiiii", unimplemented},
	{"proxy_grpc_send", "iiii", unimplemented},
	{"proxy_grpc_cancel", "i", unimplemented},
	{"proxy_grpc_close", "i", unimplemented},
}

func unimplemented(*vm, []uint64) Status { return StatusUnimplemented }

// instantiateABI instantiates the host module "env", which filters import.
func instantiateABI(ctx context.Context, r wazero.Runtime) error {
	builder := r.NewHostModuleBuilder("env")
	for _, h := range hostcalls {
		params := make([]api.ValueType, len(h.params))
		for i, c := range h.params {
			params[i] = api.ValueTypeI32
			if c == 'I' {
				params[i] = api.ValueTypeI64
			}
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(
			api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
				v := vmOf(ctx)
				if v == nil || v.memory == nil {
					stack[0] = uint64(StatusInternalFailure)
					return
				}
				for i, t := range params {
					if t == api.ValueTypeI32 {
						stack[i] = uint64(api.DecodeU32(stack[i])) // the upper half of a 32-bit argument is undefined
					}
				}
				stack[0] = uint64(h.call(v, stack[:len(params)]))
			}), params, []api.ValueType{api.ValueTypeI32}).Export(h.name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

func writeLog(v *vm, a []uint64) Status {
	text, ok := v.readString(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	if Level(a[0]) > Critical {
		return StatusBadArgument
	}
	v.worker.host.log(Level(a[0]), "%s", text)
	return StatusOK
}

func getStatus(v *vm, a []uint64) Status {
	if s := v.writeUint32(0, a[0]); s != StatusOK {
		return s
	}
	return v.writeNew(nil, a[1], a[2])
}

func setEffectiveContext(v *vm, a []uint64) Status {
	if uint32(a[0]) == rootID {
		v.active = nil
		return StatusOK
	}
	s, ok := v.streams[uint32(a[0])]
	if !ok {
		return StatusBadArgument
	}
	v.active = s
	return StatusOK
}
