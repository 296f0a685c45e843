package config

import (
	"errors"
	"strings"
	"testing"
)

// mistaken has mistakes of all kinds: settings that are unknown, that have another form, that are out of range, and that
// contradict others.
const mistaken = `lisen: 127.0.0.1:1
body_limit: 3 cats
mode: half
envoy: { concurrency: many, max_heap: 1MiB, path: [] }
stall_timeout: 5ms
pools:
- name: p
  servers: [ "http://h:1", "h:2", "http://h:1" ]
  capacity: -1
  policy: random
  health: { intervall: 5s, interval: 1ms }
  authorization: k
- name: q
  servers: [ "http://h:3" ]
  spares: [ r, q ]
models:
- name: m
  pool: p
  context_length: -1
  colour: red
- name: n
  pool: none
  answers: { events: some, max_choices: 129 }
tracing: { url: "http://c:4318" }
passthrough_paths: [ v1, /v1/, "?" ]
`

const mistakes = `h.yaml:1:1: lisen: lisen is not a setting; did you mean listen?
h.yaml:2:13: body_limit: "3 cats" is not a size; write bytes or a unit, such as 65536, 512KiB, 16MiB or 16MB
h.yaml:3:7: mode: "half" is not known; write full or reduced
h.yaml:4:23: envoy.concurrency: found "many" where a number is expected
h.yaml:4:39: envoy.max_heap: 1MiB is out of range; use 128MiB to 1024GiB
h.yaml:4:51: envoy.path: found a list where text is expected; put quotation marks around it
h.yaml:5:16: stall_timeout: 5ms would end every request; use at least 1s, or 0s to wait for ever
h.yaml:8:28: pools[0].servers[1]: "h:2" is not a URL; write http://host:port
h.yaml:8:35: pools[0].servers[2]: http://h:1 is listed twice
h.yaml:9:13: pools[0].capacity: -1 is out of range; write how many requests one server works on at once, or 0 for no limit
h.yaml:10:11: pools[0].policy: "random" is not known; write least_request, round_robin, session, prefix or picker
h.yaml:11:13: pools[0].health.intervall: intervall is not a setting; did you mean interval?
h.yaml:11:38: pools[0].health.interval: 1ms is out of range; write a time from 100ms to 1h
h.yaml:12:18: pools[0].authorization: there is no secret called k; add it to secrets
h.yaml:15:13: pools[1].spares[0]: there is no pool called r; add it to pools
h.yaml:15:16: pools[1].spares[1]: a pool cannot be its own spare
h.yaml:19:19: models[0].context_length: -1 is out of range; write the model's whole context in tokens, such as 131072
h.yaml:20:3: models[0].colour: colour is not a setting; check its spelling and its indentation
h.yaml:22:9: models[1].pool: there is no pool called none; add it to pools
h.yaml:23:22: models[1].answers.events: "some" is not known; write chunks or channels
h.yaml:23:41: models[1].answers.max_choices: 129 is out of range; use 1 to 128
h.yaml:24:17: tracing.url: "http://c:4318" has the port of OTLP over HTTP, whose URLs have a path; write http://c:4318/v1/traces
h.yaml:25:22: passthrough_paths[0]: "v1" is not a path; write /path for one, or /path/ for everything below it
h.yaml:25:32: passthrough_paths[2]: "?" is not a path; write /path for one, or /path/ for everything below it
`

func TestEveryMistake(t *testing.T) {
	_, err := Parse("h.yaml", []byte(mistaken))
	if got := allOf(err); got != mistakes {
		t.Errorf("got\n%swant\n%s", got, mistakes)
	}
	const first = "h.yaml:1: lisen: lisen is not a setting; did you mean listen? (and 23 more; harmony controlplane " +
		"validate shows all)"
	if err.Error() != first {
		t.Errorf("in one line: %v", err)
	}
	var one *Error
	if !errors.As(err, &one) || one.Field != "lisen" {
		t.Errorf("the first: %v", one)
	}
}

// TestUnreadSettings shows what follows from a setting that cannot be read: nothing that it may be to blame for.
func TestUnreadSettings(t *testing.T) {
	for in, want := range map[string]string{
		"pools: 5\nmodels: [{ name: m, pool: p }]\nmode: half": "h.yaml:1:8: pools: found \"5\" where a list is expected\n",
		"pools: 5\nmodels: [{ name: m, pool: p, colour: red }]": "h.yaml:1:8: pools: found \"5\" where a list is " +
			"expected\nh.yaml:2:30: models[0].colour: colour is not a setting; check its spelling and its indentation\n",
		"models: [ a ]\nmode: half": "h.yaml:1:11: models[0]: found \"a\" where a block of settings is expected\n",
		"pools:\n- name: p\n  servers: x\nmodels: [{ name: m, pool: p }]": "h.yaml:3:12: pools[0].servers: found \"x\" " +
			"where a list is expected\n",
		"models:\n- { name: m, answers: &a { stricd: true } }\n- { name: n, answers: *a }\nmode: half": "h.yaml:2:28: " +
			"models[0].answers.stricd: stricd is not a setting; did you mean strict?\n" +
			"h.yaml:4:7: mode: \"half\" is not known; write full or reduced\n",
		"pool: [{ name: p, servers: ['http://h:1'] }]\nmodels: [{ name: m, pool: p }]": "h.yaml:1:1: pool: pool is not a " +
			"setting; did you mean pools?\n",
		"models: [{ nam: m }]":  "h.yaml:1:12: models[0].nam: nam is not a setting; did you mean name?\n",
		"listen: [\nmode: half": "h.yaml:1:9: a list that begins with [ does not end; write ]\n",
	} {
		_, err := Parse("h.yaml", []byte(in))
		if got := allOf(err); got != want {
			t.Errorf("%q:\ngot  %swant %s", in, got, want)
		}
	}
}

// allOf returns the texts of all errors, with their columns, each on a line.
func allOf(err error) string {
	var all Errors
	if !errors.As(err, &all) {
		var one *Error
		if !errors.As(err, &one) {
			return ""
		}
		all = Errors{one}
	}
	var texts strings.Builder
	for _, e := range all {
		texts.WriteString(e.Exact() + "\n")
	}
	return texts.String()
}

// TestManyMistakes reads files with as many mistakes as fit in them.
func TestManyMistakes(t *testing.T) {
	for _, text := range []string{
		"cors_origins: [" + strings.Repeat("a,", 3000) + "]",
		"models:\n" + strings.Repeat("- name: m\n  a: b\n", 100),
		strings.Repeat("pools: [{}, ", 1000),
	} {
		if _, err := Parse("h.yaml", []byte(text)); err == nil {
			t.Errorf("%.20s is accepted", text)
		}
	}
}
