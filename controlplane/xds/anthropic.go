package xds

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Clients of Anthropic's API get Envoy's own replies in its form. The filter tells whom it has found to be one. For a
// request that has not reached the filter the path does, which the filter changes later.

// anthropicClient is the condition, in CEL, for a reply to a client of Anthropic's API. The filter's state is bytes.
const anthropicClient = `request.path.startsWith("` + contract.MessagesPath + `") || ` +
	`filter_state["wasm.` + contract.LogStatePrefix + contract.ErrorsState + `"] == b"` + contract.ErrorsAnthropic + `"`

// anthropicHeaders is the condition for a request of which no filter has said anything. It goes by what a filter would
// go by.
const anthropicHeaders = `request.path.startsWith("` + contract.MessagesPath + `") || request.path.startsWith("` +
	contract.ModelsPath + `") && "` + anthropic.VersionHeader + `" in request.headers`

// ForAnthropic reports whether a reply is for a client of Anthropic's API. path is the path of the request as it is now,
// and errors the filter's state [contract.ErrorsState].
func ForAnthropic(path, errors string) bool {
	return strings.HasPrefix(path, contract.MessagesPath) || errors == contract.ErrorsAnthropic
}

// anthropicStatus returns a status whose error has the type of this one. Envoy's own status is not known here.
func (r *LocalReply) anthropicStatus() int {
	switch {
	case r.status != 0:
		return r.status
	case r.code == contract.CodeRequestTooLarge:
		return 413
	case r.code == contract.CodeServerTimeout:
		return 504
	case r.kind == contract.RateLimitError:
		return 429
	case r.kind == contract.InvalidRequestError:
		return 400
	}
	return 500
}

// AnthropicBody returns the body that a client of Anthropic's API gets.
func (r *LocalReply) AnthropicBody(requestID string) []byte {
	return anthropic.AppendError(nil, &openai.Error{Status: r.anthropicStatus(), Message: r.message}, requestID)
}

// AnthropicHeaders returns the further headers of such a reply.
func (r *LocalReply) AnthropicHeaders(requestID string) [][2]string {
	return append(slices.Clone(r.Headers), [2]string{anthropic.RequestIDHeader, requestID})
}

// anthropicMapper returns what Envoy makes of its replies to which a condition in CEL applies, in the form of
// Anthropic's API.
func (b *builder) anthropicMapper(r *LocalReply, condition string) *hcmv3.ResponseMapper {
	const id = "%REQ(X-REQUEST-ID)%"
	text := func(s string) *structpb.Value { return structpb.NewStringValue(strings.ReplaceAll(s, "%", "%%")) }
	// A client may have chosen the id: only this format writes it as JSON.
	body := &corev3.SubstitutionFormatString{Format: &corev3.SubstitutionFormatString_JsonFormat{
		JsonFormat: &structpb.Struct{Fields: map[string]*structpb.Value{
			"type": text("error"),
			"error": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
				"type": text(anthropic.ErrorType(r.anthropicStatus())), "message": text(r.message),
			}}),
			"request_id": structpb.NewStringValue(id),
		}},
	}}
	return b.mapper(r, condition, r.AnthropicHeaders(id), body)
}
