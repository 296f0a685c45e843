package xds

import (
	"fmt"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/filters/cel/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

const jsonType = "application/json"

// reply is one kind of answer that Envoy gives by itself: which, and what an OpenAI client is told. The status stays
// Envoy's.
type reply struct {
	when                string // CEL over Envoy's attributes
	message, kind, code string
}

const (
	resetBefore = `response.code_details.startsWith("upstream_reset_before_response_started{`
	// The filter's replies come without details, and a route's direct response is in shape already. Envoy's flags
	// would not do: they stay when the filter answers in place of Envoy.
	byEnvoy = `response.code_details != "" && response.code_details != "direct_response"`
)

// replies are looked at in order; the first that holds is taken. The codes are those of harmonycore/exchange.
func (b *builder) replies() []reply {
	return []reply{
		{
			when:    `response.code_details == "request_payload_too_large"`,
			message: fmt.Sprintf("The request body is larger than the limit of %d bytes.", int64(b.config.BodyLimit)),
			kind:    "invalid_request_error", code: "request_too_large",
		},
		{
			when:    resetBefore + `overflow")`,
			message: "The inference servers are at their limit. Try again later.",
			kind:    "server_error", code: "server_overloaded",
		},
		{
			when: `response.code_details in ["no_healthy_upstream", "cluster_not_found"] || ` + resetBefore + `connection_failure") || ` +
				resetBefore + `remote_connection_failure") || ` + resetBefore + `connection_timeout")`,
			message: "No inference server can be reached at the moment. Try again later.",
			kind:    "server_error", code: "server_unavailable",
		},
		{
			when:    `response.code_details == "wasm_fail_stream"`,
			message: "The gateway is restarting a worker. Try again.",
			kind:    "server_error", code: "server_error",
		},
		{
			when:    `response.code_details.startsWith("upstream_reset_")`,
			message: "The inference server closed the connection before its answer was finished.",
			kind:    "server_error", code: "server_error",
		},
		{
			when:    byEnvoy + ` && response.code in [408, 504]`,
			message: "Nothing came for too long, and the request was given up.",
			kind:    "server_error", code: "server_timeout",
		},
		{
			when:    byEnvoy + ` && response.code >= 500`,
			message: "The gateway could not answer the request.",
			kind:    "server_error", code: "server_error",
		},
		{
			when:    byEnvoy,
			message: "The gateway refused the request: it is not well-formed HTTP, or beyond the gateway's limits.",
			kind:    "invalid_request_error", code: "invalid_request",
		},
	}
}

func (b *builder) localReplies() *hcmv3.LocalReplyConfig {
	config := &hcmv3.LocalReplyConfig{}
	for _, r := range b.replies() {
		config.Mappers = append(config.Mappers, &hcmv3.ResponseMapper{
			Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ExtensionFilter{
				ExtensionFilter: &accesslogv3.ExtensionFilter{
					Name:       "envoy.access_loggers.extension_filters.cel",
					ConfigType: &accesslogv3.ExtensionFilter_TypedConfig{TypedConfig: b.any(&celv3.ExpressionFilter{Expression: r.when})},
				},
			}},
			BodyFormatOverride: r.format(),
		})
	}
	return config
}

func (r reply) format() *corev3.SubstitutionFormatString {
	body := fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, r.message, r.kind, r.code)
	return &corev3.SubstitutionFormatString{
		Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: strings.ReplaceAll(body, "%", "%%")},
		}},
		ContentType: jsonType,
	}
}
