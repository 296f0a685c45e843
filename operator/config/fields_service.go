package config

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// forDefault ends the error texts of settings whose zero value is the default.
const forDefault = "0 for the default"

func (s *ResponsesService) fields() []Field {
	return []Field{
		{Key: "store", At: &s.Store, Flag: "--store", Form: "path or postgres URL", Check: storeReason, Start: PartService,
			Meaning: "the database of the [responses service](responses-service.md): a file, or `postgres://HOST/DATABASE`"},
		{Key: "url", At: &s.URL, Form: FormURL,
			Meaning: "where Envoys find the service, if another program runs it, or one of your own"},
		{Key: "listen", At: &s.Listen, Zero: DefaultServiceListen, Form: FormAddress, Check: parses(ParseListen),
			Start: PartService, Meaning: "for Envoys only; `harmony up` takes a free port"},
		{Key: "gateway", At: &s.Gateway, Shown: "the first listener", Form: FormURL, Check: gatewayReason,
			Meaning: "URL at which the service asks the models"},
		{Key: "retention", At: &s.Retention, Zero: Duration(30 * 24 * time.Hour), Range: atLeastSecond,
			Advice: "is out of range; write at least {min}", Meaning: "how long responses are kept"},
		{Key: "event_retention", At: &s.EventRetention, Zero: Duration(time.Hour), Range: atLeastSecond,
			Advice: "is out of range; write at least {min}", Meaning: "how long a stream in the background can be resumed"},
		{Key: "persist", Block: s.Persist.fields()},
		{Key: "background", At: &s.Background, Zero: 16, Range: numbers(1, 10_000), Or: forDefault,
			Meaning: "how many responses a replica makes in the background at once"},
		{Key: "max_requests", At: &s.MaxRequests, Zero: 512, Range: numbers(1, 100_000), Or: forDefault,
			Meaning: "how many requests a replica handles at once; others are answered 429"},
		{Key: "memory_limit", At: &s.MemoryLimit, Zero: Size(1 << 30),
			Meaning: "what all requests of a replica may take; others are answered 429"},
		{Key: "max_connections", At: &s.MaxConnections, Zero: 16, Range: numbers(1, 1000), Or: forDefault,
			Start: PartService, Meaning: "how many connections a replica has to its database"},
		{Key: "access_log", At: &s.AccessLog, Form: FormPath, Start: PartService,
			Meaning: "file for a JSON object for each request: [there](metrics.md#the-services-access-log)"},
		{Key: "tools", Block: s.Tools.fields()},
		{Key: "stores", At: &s.Stores, Shown: "`true`",
			Meaning: "whether a service of your own keeps responses and conversations"},
		{Key: "hosted_tools", At: &s.HostedTools, Shown: "`true`",
			Meaning: "whether a service of your own runs tools; not with `store`"},
		{Key: "websocket", At: &s.WebSocket, Shown: "`false`; with `store` `true`",
			Meaning: "whether clients may connect by [WebSocket](websocket.md)"},
		{Key: "messages", At: &s.Messages, Shown: "`false`; with `store` `true`",
			Meaning: "whether it has [tools of Messages](tools.md#messages)"},
	}
}

// atLeastSecond is the range of times that are kept.
var atLeastSecond = times(time.Second, math.MaxInt64)

// storeReason returns what is wrong with the place of a store, or "".
func storeReason(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return "has a password, and this file is no place for secrets; set PGPASSWORD, or PGPASSFILE"
		}
	}
	return ""
}

func gatewayReason(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return fmt.Sprintf("%q is not the URL of a gateway; write http://host:port", text)
	}
	return ""
}

func (p *Persist) fields() []Field {
	return []Field{
		{Key: "reasoning", At: &p.Reasoning, Zero: PersistKeep,
			Words:   []string{PersistKeep, PersistUntilFinal, PersistNever},
			Meaning: "`until_final` or `never`: [what is stored](responses-service.md#what-is-stored-and-how-long)"},
		{Key: "commentary", At: &p.Commentary, Zero: PersistKeep, Words: []string{PersistKeep, PersistDrop},
			Meaning: "`drop` does not store what a model says before a call"},
	}
}

func (t *Tools) fields() []Field {
	return []Field{
		{Key: "servers", Entries: entriesOf(t.Servers, zero, (*ToolServer).fields)},
		{Key: "allow", At: &t.Allow, Form: "place", Check: checkPlace,
			Meaning: "[what `server_url` may be](tools.md#servers-that-a-request-names)"},
		{Key: "browser", At: &t.Browser, Form: FormName, Meaning: "label of the server behind `web_search`"},
		{Key: "python", At: &t.Python, Form: FormName, Meaning: "label of the server behind `code_interpreter`"},
		{Key: "container", At: &t.Container, Form: FormName,
			Meaning: "label of the server of gpt-oss's tool `container`"},
		{Key: "others", At: &t.Others, Zero: "", Shown: "`hosted_tools`",
			Words:   []string{contract.HostedToolsIgnore, contract.HostedToolsRefuse},
			Meaning: "tools that no server runs: `ignore` or `refuse`"},
		{Key: "tool_search", At: &t.ToolSearch, Zero: ToolSearchShowAll, Words: []string{ToolSearchShowAll, ToolSearchBM25},
			Meaning: "`bm25` [searches](tools.md#search-for-tools) deferred tools"},
		{Key: "browser_cursors", At: &t.BrowserCursors, Meaning: "`true` shows unknown pages as `cursor:3`, like vLLM"},
		{Key: "rounds", At: &t.Rounds, Zero: 32, Range: numbers(1, 1000), Or: forDefault,
			Meaning: "how often the model is asked for one response, {range}"},
		{Key: "time", At: &t.Time, Zero: Duration(DefaultToolTime), Range: times(time.Second, 24*time.Hour),
			Or: "0s for the default", Meaning: "how long one response may take with its tools, {range}"},
		{Key: "call_time", At: &t.CallTime, Zero: Duration(time.Minute), Range: times(time.Second, time.Hour),
			Or: "0s for the default", Meaning: "how long one call may take, {range}"},
		{Key: "result_limit", At: &t.ResultLimit, Zero: Size(64 << 10), Range: sizes(1<<10, 16<<20), Or: forDefault,
			Meaning: "how much of a call's result the model is shown, {range}"},
		{Key: "parallel", At: &t.Parallel, Zero: 8, Range: numbers(1, 64), Or: forDefault,
			Meaning: "how many calls of one response run at once, {range}"},
	}
}

func (s *ToolServer) fields() []Field {
	return []Field{
		{Key: "label", At: &s.Label, Required: true, Form: FormName, Check: labelReason,
			Meaning: "what requests call an MCP server"},
		{Key: "url", At: &s.URL, Form: FormURL, Check: checkToolURL,
			Meaning: "where it is, http or https; it may be at a private address"},
		{Key: "transport", At: &s.Transport, Zero: "", Shown: "both",
			Words: []string{TransportStreamableHTTP, TransportSSE}, Or: "leave it out to try both",
			Meaning: "`streamable_http` or `sse`"},
		{Key: "command", At: &s.Command, Form: "program and arguments",
			Meaning: "instead of `url`: a [program](tools.md#programs) to start"},
		{Key: "environment", At: &s.Environment, Form: "NAME: value",
			Meaning: "variables of that program, as `NAME: value`"},
		{Key: "headers_file", At: &s.HeadersFile, Form: FormFile,
			Meaning: "headers for it, such as [secrets](tools.md#secrets)"},
		{Key: "allowed_tools", At: &s.AllowedTools, Shown: "all", Form: FormName, Meaning: "the tools that may be called"},
		{Key: "require_approval", At: &s.RequireApproval, Zero: "", Shown: "as requests say",
			Words: []string{ApprovalAlways, ApprovalNever}, Or: "leave it out: requests say it then",
			Meaning: "`always`, `never`: [approvals](tools.md#approvals)"},
	}
}

func labelReason(text string) string {
	if !isLabel(text) {
		return fmt.Sprintf("%q is not a label; use a letter, and then up to 63 letters, digits, - and _", text)
	}
	return ""
}
