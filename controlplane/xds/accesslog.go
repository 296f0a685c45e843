package xds

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filelogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	celformatv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/formatter/cel/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// accessLogFields are the fields of an access log line whose values Envoy has. The filter's are [contract.LogFields]. A
// line has no text of a request or an answer. So it does not have a path's query either.
var accessLogFields = []struct{ name, format string }{
	{"time", "%START_TIME%"},
	{"request_id", "%REQ(X-REQUEST-ID)%"},
	{"status", "%RESPONSE_CODE%"},
	{"details", "%RESPONSE_CODE_DETAILS%"},
	{"flags", "%RESPONSE_FLAGS%"},
	{"duration_ms", "%DURATION%"},
	{"bytes_received", "%BYTES_RECEIVED%"},
	{"bytes_sent", "%BYTES_SENT%"},
	{"upstream", "%UPSTREAM_HOST%"},
	// The pool of that server, if it is a spare of the one that was chosen.
	{"spare", "%UPSTREAM_METADATA(" + contract.MetadataNamespace + ":" + contract.SpareKey + ")%"},
	// Why the pool's picker has chosen the first of its servers. It is empty if Envoy has chosen alone.
	{"picked_for", "%DYNAMIC_METADATA(" + protocol.OwnNamespace + ":" + protocol.ReasonKey + ")%"},
	// How long the request has waited in the pool's queue, and in which class. They are empty without a queue.
	{"queued_ms", "%DYNAMIC_METADATA(" + protocol.OwnNamespace + ":" + protocol.QueuedKey + ")%"},
	{"class", "%DYNAMIC_METADATA(" + protocol.OwnNamespace + ":" + protocol.ClassKey + ")%"},
}

// harmonyState returns the format of a value that the filter has set as a property of the stream.
func harmonyState(field string) string {
	return "%FILTER_STATE(wasm." + contract.LogStatePrefix + field + ":PLAIN)%"
}

// harmonyNumber returns the format of a number that the filter has set as a property of the stream. Envoy would write
// its text otherwise. Without the property it writes null.
func harmonyNumber(field string) string {
	return "%TYPED_CEL(int(filter_state['wasm." + contract.LogStatePrefix + field + "']))%"
}

// accessLog returns a log with one JSON object for each request, in the file that the configuration names. It returns
// nil if the configuration names none.
func (b *builder) accessLog() []*accesslogv3.AccessLog {
	if b.config.AccessLog == "" {
		return nil
	}
	format := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, f := range accessLogFields {
		format.Fields[f.name] = structpb.NewStringValue(f.format)
	}
	for _, field := range contract.LogFields() {
		format.Fields[field] = structpb.NewStringValue(harmonyState(field))
	}
	for _, field := range contract.LogNumbers() {
		format.Fields[field] = structpb.NewStringValue(harmonyNumber(field))
	}
	return []*accesslogv3.AccessLog{{
		Name:   "envoy.access_loggers.file",
		Filter: b.loggedRequests(),
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: b.any(&filelogv3.FileAccessLog{
			Path: b.config.AccessLog,
			AccessLogFormat: &filelogv3.FileAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: format},
				Formatters: []*corev3.TypedExtensionConfig{{
					Name: "envoy.formatter.cel", TypedConfig: b.any(&celformatv3.Cel{}),
				}},
			}},
		})},
	}}
}

// loggedRequests returns a filter that leaves out load balancers' health checks. nil means that all requests are
// logged.
func (b *builder) loggedRequests() *accesslogv3.AccessLogFilter {
	if !b.answersHealth() {
		return nil
	}
	health := headerIs(":path", healthPath)
	health.InvertMatch = true
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_HeaderFilter{
		HeaderFilter: &accesslogv3.HeaderFilter{Header: health}}}
}
