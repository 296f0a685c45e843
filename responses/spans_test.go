package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// lines returns each span with its status, and the attributes that matter, in the order in which they have ended.
func lines(spans tracetest.SpanStubs) string {
	var text strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&text, "%s %s", s.Name, s.Status.Code)
		for _, a := range s.Attributes {
			switch a.Key {
			case spanErrorType, spanOutcome, spanStatus, spanRound:
				fmt.Fprintf(&text, " %s=%s", a.Key[strings.LastIndexByte(string(a.Key), '.')+1:], a.Value.Emit())
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}
