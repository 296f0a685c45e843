package xds

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/filters/cel/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const jsonType = "application/json"

// LocalReply is one kind of answer that Envoy gives by itself: which, and what an OpenAI client is told.
type LocalReply struct {
	// Details and Prefixes are what Envoy says about the reply (response.code_details), whole or as its beginning. Without
	// either every reply is meant that Envoy made. The filter's replies come without details, and a route's direct
	// response is in shape already; Envoy's flags would not tell them apart, as they stay when the filter answers in place
	// of Envoy.
	Details, Prefixes []string
	// Statuses narrow that down; a status that ends in 00 stands for the hundred. Empty is all.
	Statuses []int

	message, kind, code string
	// status takes the place of Envoy's, if it is not 0.
	status int
	// Headers are added to the reply.
	Headers [][2]string
}

const resetBefore = "upstream_reset_before_response_started{"

// localReplies are looked at in order; the first that matches is taken. The codes are the contract's.
func localReplies(c *config.Config) []LocalReply {
	return []LocalReply{
		{
			Details: []string{"request_payload_too_large"},
			message: fmt.Sprintf("The request body is larger than the limit of %d bytes.", int64(c.BodyLimit)),
			kind:    contract.InvalidRequestError, code: contract.CodeRequestTooLarge,
		},
		{
			Prefixes: []string{resetBefore + "overflow"},
			message:  "The inference servers are at their limit. Try again later.",
			kind:     contract.ServerErrorType, code: contract.CodeServerOverloaded,
		},
		{
			Details:  []string{"no_healthy_upstream", "cluster_not_found"},
			Prefixes: []string{resetBefore + "connection_failure", resetBefore + "remote_connection_failure", resetBefore + "connection_timeout"},
			message:  "No inference server can be reached at the moment. Try again later.",
			kind:     contract.ServerErrorType, code: contract.CodeServerUnavailable,
		},
		{
			// Agents try WebSocket first, and 426 alone makes them go on over HTTP; Envoy's is 403. RFC 9110 wants the protocol
			// to use named in such an answer.
			Details: []string{"upgrade_failed"},
			message: "WebSocket is not served here. Send POST " + contract.ResponsesPath + " over HTTP.",
			kind:    contract.InvalidRequestError, code: contract.CodeWebSocketNotSupported, status: http.StatusUpgradeRequired,
			Headers: [][2]string{{"upgrade", "HTTP/1.1"}, {"connection", "upgrade, close"}},
		},
		{
			Details: []string{"health_check_failed"},
			message: "The gateway is being stopped. Send new requests to another.",
			kind:    contract.ServerErrorType, code: contract.CodeServerUnavailable,
		},
		{
			// Envoy's 401 would tell clients that their own key is wrong.
			Details: []string{"failed_to_inject_credential"},
			message: "The gateway has no credentials for the inference servers at the moment. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerUnavailable, status: http.StatusServiceUnavailable,
		},
		{
			Details: []string{"wasm_fail_stream"},
			message: "The gateway is restarting a worker. Try again.",
			kind:    contract.ServerErrorType, code: contract.CodeServerError,
		},
		{
			Prefixes: []string{"upstream_reset_"},
			message:  "The inference server closed the connection before its answer was finished.",
			kind:     contract.ServerErrorType, code: contract.CodeServerError,
		},
		{
			Details: []string{"request_overall_timeout"},
			message: fmt.Sprintf("The request was not all there after %s.", &c.RequestTimeout),
			kind:    contract.InvalidRequestError, code: contract.CodeInvalidRequest,
		},
		{
			Details: []string{"overload"},
			message: "The gateway has no memory to spare for another request. Try again.",
			kind:    contract.ServerErrorType, code: contract.CodeGatewayOverloaded, Headers: [][2]string{{"retry-after", "1"}},
		},
		{
			Statuses: []int{408, 504},
			message:  "Nothing came for too long, and the request was given up.",
			kind:     contract.ServerErrorType, code: contract.CodeServerTimeout,
		},
		{
			Statuses: []int{500},
			message:  "The gateway could not answer the request.",
			kind:     contract.ServerErrorType, code: contract.CodeServerError,
		},
		{
			message: "The gateway refused the request: it is not well-formed HTTP, or beyond the gateway's limits.",
			kind:    contract.InvalidRequestError, code: contract.CodeInvalidRequest,
		},
	}
}

// Matches reports whether a reply of this status and with these details is meant.
func (r *LocalReply) Matches(status int, details string) bool {
	switch {
	case details == "" || details == "direct_response":
		return false
	case len(r.Details)+len(r.Prefixes) > 0 && !slices.Contains(r.Details, details) &&
		!slices.ContainsFunc(r.Prefixes, func(p string) bool { return strings.HasPrefix(details, p) }):
		return false
	}
	return len(r.Statuses) == 0 || slices.ContainsFunc(r.Statuses, func(s int) bool {
		return s == status || s%100 == 0 && s/100 == status/100
	})
}

// expression is Matches in CEL over Envoy's attributes.
func (r *LocalReply) expression() string {
	const details, code = "response.code_details", "response.code"
	var is []string
	if len(r.Details) > 0 {
		is = append(is, fmt.Sprintf("%s in [%s]", details, quoted(r.Details)))
	}
	for _, p := range r.Prefixes {
		is = append(is, fmt.Sprintf("%s.startsWith(%q)", details, p))
	}
	if len(is) > 0 {
		return strings.Join(is, " || ")
	}
	all := []string{details + ` != ""`, details + ` != "direct_response"`}
	for _, s := range r.Statuses {
		if s%100 == 0 {
			is = append(is, fmt.Sprintf("(%s >= %d && %s < %d)", code, s, code, s+100))
		} else {
			is = append(is, fmt.Sprintf("%s == %d", code, s))
		}
	}
	if len(is) > 0 {
		all = append(all, "("+strings.Join(is, " || ")+")")
	}
	return strings.Join(all, " && ")
}

func quoted(texts []string) string {
	var out []string
	for _, t := range texts {
		out = append(out, fmt.Sprintf("%q", t))
	}
	return strings.Join(out, ", ")
}

// Body is what the client is told, and its content type.
func (r *LocalReply) Body() (body, contentType string) {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, r.message, r.kind, r.code), jsonType
}

// Status is the client's in place of Envoy's.
func (r *LocalReply) Status(envoys int) int { return cmp.Or(r.status, envoys) }

// unconfigured is what clients are told where the filter has refused the only configuration that it was given by xDS. By
// itself Envoy then answers 500, with a flag and nothing else.
var unconfigured = LocalReply{
	message: "The gateway is misconfigured. Its operator finds the reason in its log.",
	kind:    contract.ServerErrorType, code: contract.CodeGatewayMisconfigured,
}

func (b *builder) localReplies() *hcmv3.LocalReplyConfig {
	config := &hcmv3.LocalReplyConfig{Mappers: []*hcmv3.ResponseMapper{{
		Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
			ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"NFCF"}},
		}},
		StatusCode:         wrapperspb.UInt32(http.StatusServiceUnavailable),
		BodyFormatOverride: unconfigured.format(),
	}}}
	for _, r := range localReplies(b.config) {
		var status *wrapperspb.UInt32Value
		if r.status != 0 {
			status = wrapperspb.UInt32(uint32(r.status))
		}
		var headers []*corev3.HeaderValueOption
		for _, h := range r.Headers {
			headers = append(headers, &corev3.HeaderValueOption{
				Header:       &corev3.HeaderValue{Key: h[0], Value: h[1]},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			})
		}
		config.Mappers = append(config.Mappers, &hcmv3.ResponseMapper{
			StatusCode: status, HeadersToAdd: headers,
			Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ExtensionFilter{
				ExtensionFilter: &accesslogv3.ExtensionFilter{
					Name:       "envoy.access_loggers.extension_filters.cel",
					ConfigType: &accesslogv3.ExtensionFilter_TypedConfig{TypedConfig: b.any(&celv3.ExpressionFilter{Expression: r.expression()})},
				},
			}},
			BodyFormatOverride: r.format(),
		})
	}
	return config
}

func (r *LocalReply) format() *corev3.SubstitutionFormatString {
	body, contentType := r.Body()
	return &corev3.SubstitutionFormatString{
		Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: strings.ReplaceAll(body, "%", "%%")},
		}},
		ContentType: contentType,
	}
}
