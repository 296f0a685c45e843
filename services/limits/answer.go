package limits

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// headers returns the headers that OpenAI's clients read. Of several limits of a resource they are of the one of which
// least is left.
func headers(limits []ledger.Limit, a *ledger.Answer) (all []*corev3.HeaderValue) {
	add := func(name, value string) { all = append(all, &corev3.HeaderValue{Key: name, Value: value}) }
	for _, resource := range []ledger.Resource{ledger.Requests, ledger.Tokens} {
		least := -1
		for i := range limits {
			if limits[i].Resource == resource && (least < 0 || a.States[i].Remaining < a.States[least].Remaining) {
				least = i
			}
		}
		if least >= 0 {
			add("x-ratelimit-limit-"+string(resource), strconv.FormatInt(limits[least].Max, 10))
			add("x-ratelimit-remaining-"+string(resource), strconv.FormatInt(a.States[least].Remaining, 10))
			add("x-ratelimit-reset-"+string(resource), inText(a.States[least].Reset))
		}
	}
	r := a.Refusal
	if r == nil {
		return all
	}
	add("content-type", "application/json")
	if r.Never {
		add("x-should-retry", "false")
		return all
	}
	wait := max(r.Wait, time.Millisecond)
	if r.Limit.Resource == ledger.Concurrency {
		wait = time.Second // nobody knows when a request ends
	}
	add("retry-after", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	add("retry-after-ms", strconv.FormatInt(roundUp(wait).Milliseconds(), 10))
	return all
}

// inText returns a duration as OpenAI's headers have it: 6ms, 1.34s, 7m12s.
func inText(d time.Duration) string { return roundUp(d).String() }

// roundUp returns a duration in whole milliseconds.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// refusalBody returns the error in OpenAI's form. Its words are OpenAI's where clients look for them.
func refusalBody(model string, r *ledger.Refusal) []byte {
	of := model
	if r.Limit.Model == "" {
		of = "all models"
	}
	kind, text := "tokens", ""
	if r.Limit.Resource != ledger.Tokens {
		kind = "requests"
	}
	switch {
	case r.Never:
		text = fmt.Sprintf("Request too large for %s on %s: Limit %d, Requested %d.", of, limitName(r.Limit), r.Limit.Max,
			r.Requested)
		if r.Limit.Resource == ledger.Tokens {
			text += " The input or output tokens must be reduced in order to run successfully."
		}
	case r.Limit.Resource == ledger.Concurrency:
		text = fmt.Sprintf("Rate limit reached for %s on %s: Limit %d, Used %d, Requested 1. Please try again when a request "+
			"has ended.", of, limitName(r.Limit), r.Limit.Max, r.Used)
	default:
		text = fmt.Sprintf("Rate limit reached for %s on %s: Limit %d, Used %d, Requested %d. Please try again in %s.", of,
			limitName(r.Limit), r.Limit.Max, r.Used, r.Requested, inText(r.Wait))
	}
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	body, err := json.Marshal(struct {
		Error object `json:"error"`
	}{object{text, kind, nil, "rate_limit_exceeded"}})
	if err != nil {
		panic(err) // strings and a null
	}
	return body
}

// limitName returns the name of a limit in OpenAI's words.
func limitName(l ledger.Limit) string {
	window, letter := "min", "M"
	if l.Window == ledger.Day {
		window, letter = "day", "D"
	}
	switch l.Resource {
	case ledger.Tokens:
		return fmt.Sprintf("tokens per %s (TP%s)", window, letter)
	case ledger.Requests:
		return fmt.Sprintf("requests per %s (RP%s)", window, letter)
	}
	return "concurrent requests"
}
