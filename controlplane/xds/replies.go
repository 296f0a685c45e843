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

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const jsonType = "application/json"

// LocalReply is a rule for replies that Envoy makes itself: which replies it matches, and what the client gets instead.
type LocalReply struct {
	// Details and Prefixes are values of response.code_details, whole or as prefixes. If both are empty, the rule matches
	// every reply that Envoy made. The filter's replies have no details, and a route's direct response has the right
	// format already. Envoy's response flags would not tell these apart, because they stay set when the filter answers in
	// place of Envoy.
	Details, Prefixes []string
	// Statuses are the statuses that the rule matches. One that ends in 00 stands for all of its hundred. If there are
	// none, the rule matches all.
	Statuses []int
	// Cluster is the cluster of the request's route. If it is empty, the rule matches all.
	Cluster string

	message, kind, code string
	// status replaces Envoy's status unless it is 0.
	status int
	// keepsBody reports whether the reply's own body stays.
	keepsBody bool
	// Headers are added to the reply.
	Headers [][2]string
}

const resetBefore = "upstream_reset_before_response_started{"

// localReplies returns the rules in order; the first one that matches applies. The codes are in docs/errors.md.
func localReplies(c *config.Config) []LocalReply {
	return slices.Concat(unreachedReplies(c), gatewayReplies(c), queueReplies(), limitReplies(), otherReplies())
}

// unreachedReplies returns the rules for requests that reach no server. It also has the one for a responses service that
// ends its answer early, because a rule for every server comes later.
func unreachedReplies(c *config.Config) []LocalReply {
	return []LocalReply{
		{
			Details: []string{"request_payload_too_large"},
			message: fmt.Sprintf("The request body is larger than the limit of %d bytes.", int64(c.BodyLimit)),
			kind:    contract.InvalidRequestError, code: contract.CodeRequestTooLarge,
		},
		{
			Prefixes: []string{resetBefore + "overflow"},
			message:  "The inference servers are at their limit. Try again later.",
			kind:     contract.ServerErrorType, code: contract.CodeServerOverloaded, status: http.StatusTooManyRequests,
			Headers: [][2]string{{"retry-after", "2"}},
		},
		{
			Details: []string{"no_healthy_upstream"}, Prefixes: []string{resetBefore + "connection_failure",
				resetBefore + "remote_connection_failure", resetBefore + "connection_timeout"}, Cluster: ResponsesCluster,
			message: "The responses service cannot be reached at the moment. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerUnavailable,
		},
		{
			Prefixes: []string{"upstream_reset_"}, Cluster: ResponsesCluster,
			message: "The responses service closed the connection before its answer was finished.",
			kind:    contract.ServerErrorType, code: contract.CodeServerError,
		},
		{
			Details: []string{"no_healthy_upstream", "cluster_not_found"},
			Prefixes: []string{resetBefore + "connection_failure", resetBefore + "remote_connection_failure",
				resetBefore + "connection_timeout"},
			message: "No inference server can be reached at the moment. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerUnavailable,
		},
	}
}

// gatewayReplies returns the rules for a gateway that cannot take a request, and for an exchange that breaks off.
func gatewayReplies(c *config.Config) []LocalReply {
	return []LocalReply{
		{
			// Agents try WebSocket first, and go on over HTTP only after a 426. Envoy's own status is 403. RFC 9110 (section
			// 15.5.22) requires that a 426 names the protocol to use.
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
			// With Envoy's 401, clients would take their own key for wrong.
			Details: []string{"failed_to_inject_credential"},
			message: "The gateway has no credentials for the inference servers at the moment. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerUnavailable, status: http.StatusServiceUnavailable,
		},
		{
			Prefixes: []string{"ext_proc_error"},
			message:  "The gateway cannot find out which inference server to use. Try again later.",
			kind:     contract.ServerErrorType, code: contract.CodeServerUnavailable, status: http.StatusServiceUnavailable,
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
	}
}

// limitReplies returns the rules for the limits of memory, requests and tokens.
func limitReplies() []LocalReply {
	return []LocalReply{
		{
			Details: []string{"overload"},
			message: "The gateway has no memory to spare for another request. Try again.",
			kind:    contract.ServerErrorType, code: contract.CodeGatewayOverloaded, status: http.StatusTooManyRequests,
			Headers: [][2]string{{"retry-after", "1"}},
		},
		{
			// A rate limit service has said why. If it has not, the filter does.
			Details: []string{"request_rate_limited"}, keepsBody: true,
		},
		{
			Details: []string{"local_rate_limited"},
			message: "Rate limit reached for requests or tokens. Try again later, or ask for fewer tokens.",
			kind:    contract.RateLimitError, code: contract.CodeRateLimitExceeded,
		},
		{
			Details: []string{"rate_limiter_error"},
			message: "The rate limit service does not answer, and the gateway cannot check its clients' limits without it. " +
				"Try again later.",
			kind: contract.ServerErrorType, code: contract.CodeServerUnavailable,
		},
	}
}

// otherReplies returns the rules for all other replies, by their status.
func otherReplies() []LocalReply {
	return []LocalReply{
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

// Matches reports whether the rule applies to a reply of Envoy's with this status and these details, to a request whose
// route leads to this cluster.
func (r *LocalReply) Matches(status int, details, cluster string) bool {
	switch {
	case details == "" || details == "direct_response" || r.Cluster != "" && r.Cluster != cluster:
		return false
	case len(r.Details)+len(r.Prefixes) > 0 && !slices.Contains(r.Details, details) &&
		!slices.ContainsFunc(r.Prefixes, func(p string) bool { return strings.HasPrefix(details, p) }):
		return false
	}
	return len(r.Statuses) == 0 || slices.ContainsFunc(r.Statuses, func(s int) bool {
		return s == status || s%100 == 0 && s/100 == status/100
	})
}

// expression returns the condition of [LocalReply.Matches] in CEL over Envoy's attributes.
func (r *LocalReply) expression() string {
	const details, code = "response.code_details", "response.code"
	var conditions []string
	if len(r.Details) > 0 {
		conditions = append(conditions, fmt.Sprintf("%s in [%s]", details, quoted(r.Details)))
	}
	for _, p := range r.Prefixes {
		conditions = append(conditions, fmt.Sprintf("%s.startsWith(%q)", details, p))
	}
	if len(conditions) > 0 && r.Cluster != "" {
		return fmt.Sprintf("xds.cluster_name == %q && (%s)", r.Cluster, strings.Join(conditions, " || "))
	}
	if len(conditions) > 0 {
		return strings.Join(conditions, " || ")
	}
	all := []string{details + ` != ""`, details + ` != "direct_response"`}
	for _, s := range r.Statuses {
		if s%100 == 0 {
			conditions = append(conditions, fmt.Sprintf("(%s >= %d && %s < %d)", code, s, code, s+100))
		} else {
			conditions = append(conditions, fmt.Sprintf("%s == %d", code, s))
		}
	}
	if len(conditions) > 0 {
		all = append(all, "("+strings.Join(conditions, " || ")+")")
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

// Body returns the body that the client gets, and its content type.
func (r *LocalReply) Body() (body, contentType string) {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, r.message, r.kind, r.code), jsonType
}

// Status returns the status that the client gets. original is Envoy's own status.
func (r *LocalReply) Status(original int) int { return cmp.Or(r.status, original) }

// misconfigured is the reply where the filter has refused the only configuration that it got by xDS. Envoy's own reply
// is 500 with an empty body. Its condition is a flag.
var misconfigured = LocalReply{
	status:  http.StatusServiceUnavailable,
	message: "The gateway is misconfigured. Its operator finds the reason in its log.",
	kind:    contract.ServerErrorType, code: contract.CodeGatewayMisconfigured,
}

func (b *builder) localReplies() *hcmv3.LocalReplyConfig {
	noFilter := &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
		ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"NFCF"}},
	}}
	ofAnthropic := b.anthropicMapper(&misconfigured, anthropicHeaders)
	ofAnthropic.Filter = &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{
		AndFilter: &accesslogv3.AndFilter{Filters: []*accesslogv3.AccessLogFilter{noFilter, ofAnthropic.Filter}},
	}}
	ofOpenAI := b.mapper(&misconfigured, "", nil, misconfigured.format())
	ofOpenAI.Filter = noFilter
	config := &hcmv3.LocalReplyConfig{Mappers: []*hcmv3.ResponseMapper{ofAnthropic, ofOpenAI}}
	for _, r := range localReplies(b.config) {
		if !r.keepsBody {
			config.Mappers = append(config.Mappers, b.anthropicMapper(&r, "("+r.expression()+") && ("+anthropicClient+")"))
		}
		config.Mappers = append(config.Mappers, b.mapper(&r, r.expression(), r.Headers, r.format()))
	}
	return config
}

// mapper returns what Envoy makes of its replies to which a condition in CEL applies.
func (b *builder) mapper(r *LocalReply, condition string, headers [][2]string,
	body *corev3.SubstitutionFormatString,
) *hcmv3.ResponseMapper {
	m := &hcmv3.ResponseMapper{
		Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ExtensionFilter{
			ExtensionFilter: &accesslogv3.ExtensionFilter{
				Name: "envoy.access_loggers.extension_filters.cel",
				ConfigType: &accesslogv3.ExtensionFilter_TypedConfig{
					TypedConfig: b.any(&celv3.ExpressionFilter{Expression: condition})},
			},
		}},
		BodyFormatOverride: body,
	}
	if r.status != 0 {
		m.StatusCode = wrapperspb.UInt32(uint32(r.status))
	}
	for _, h := range headers {
		m.HeadersToAdd = append(m.HeadersToAdd, &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: h[0], Value: h[1]},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	}
	return m
}

func (r *LocalReply) format() *corev3.SubstitutionFormatString {
	body, contentType := r.Body()
	if r.keepsBody {
		return &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: "%LOCAL_REPLY_BODY%"},
			}},
			ContentType: contentType,
		}
	}
	return &corev3.SubstitutionFormatString{
		Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: strings.ReplaceAll(body, "%", "%%")},
		}},
		ContentType: contentType,
	}
}
