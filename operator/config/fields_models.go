package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func (m *Model) fields() []Field {
	own := []Field{
		{Key: "name", At: &m.Name, Flag: "--model (repeatable)", Required: true, Form: FormName, Check: modelNameReason,
			Meaning: "what clients ask for: printable ASCII without spaces"},
		{Key: "pool", At: &m.Pool, Form: FormName,
			Meaning: "name of the pool of the model's servers; several models may share one"},
		{Key: "servers", At: &m.Servers, Flag: "--backend (repeatable)", Form: "KIND=URL",
			Meaning: "a pool for this model alone: its servers as `KIND=URL`"},
		{Key: "forward_authorization", At: &m.ForwardAuthorization, Flag: "--forward-authorization",
			Meaning: "`true`: servers get clients' own"},
		{Key: "server_model", At: &m.ServerModel, Flag: "--server-model", Shown: "`name`", Form: FormText,
			Meaning: "the name that the servers know the model by"},
		{Key: "keep_alive", At: &m.KeepAlive, Zero: Duration(0), Range: times(time.Second, time.Hour),
			Advice: "is out of range; write from {min} to {max}, such as 15s", Or: "0s for no signs of life",
			Meaning: "with `relay`: signs of life for [quiet streams](responses-service.md#quiet-streams)"},
		{Key: "response_template", At: &m.ResponseTemplate, Form: FormFile,
			Meaning: "instead of `speaks`: the checkpoint's `tokenizer_config.json`, if it [describes](structure.md#response_template)" +
				" answers"},
		{Key: "route", Entries: entriesOf(m.Rules, zero, (*Rule).fields)},
	}
	return append(own, ofContract(m.ModelSettings.Fields(), modelMeanings)...)
}

func modelNameReason(text string) string {
	switch {
	case text == "":
		return "the model has no name; write the one that clients ask for"
	case !printable(text) || len(text) > contract.MaxNameLength:
		return fmt.Sprintf("%q is not a valid header value; use at most %d printable ASCII characters and no spaces", text,
			contract.MaxNameLength)
	}
	return ""
}

// blankModel returns a model that says nothing, for descriptions.
func blankModel() *Model {
	m := DefaultModel("")
	return &m
}

// about is what the contract does not say about a setting: its meaning, its flag, and its default in words.
type about struct{ meaning, flag, shown string }

// ofContract returns settings of the contract as settings of the file. meanings has them by their paths.
func ofContract(fields []contract.Field, meanings map[string]about) []Field {
	return underContract("", fields, meanings)
}

func underContract(prefix string, fields []contract.Field, meanings map[string]about) []Field {
	all := make([]Field, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Block != nil {
			all[i] = Field{Key: f.Key, Block: underContract(prefix+f.Key+".", f.Block, meanings)}
			continue
		}
		a := meanings[prefix+f.Key]
		all[i] = Field{Key: f.Key, Meaning: a.meaning, Flag: a.flag, Shown: a.shown, Advice: f.Advice, contract: true}
		all[i].bind(f)
	}
	return all
}

// bind takes the value and the range of a setting of the contract.
func (f *Field) bind(from *contract.Field) {
	switch {
	case from.Flag != nil:
		f.At = from.Flag
	case from.Number != nil:
		f.At, f.Range = from.Number, numbers(from.Min, from.Max)
	case from.Fraction != nil:
		f.At, f.Range = from.Fraction, numbers(0, 1)
	case from.Text != nil && from.Words != nil:
		f.At, f.Words = from.Text, from.Words
	case from.Text != nil && from.Valid != nil:
		f.At, f.Check = from.Text, quoted(from.Valid, from.Advice)
	case from.Text != nil:
		f.At = from.Text
	case from.List != nil && from.Words != nil:
		f.At, f.Elements = from.List, from.Words
		f.Check = quoted(from.AllowsElement, "is not known; write one or more of "+strings.Join(from.Words, ", "))
	case from.List != nil:
		f.At, f.Check = from.List, quoted(from.AllowsElement, from.Advice)
	default:
		f.At, f.Form = from.Object, FormObject
	}
}

// quoted returns a check of texts that accepts accepts.
func quoted(accepts func(string) bool, advice string) func(string) string {
	return func(text string) string {
		if accepts(text) {
			return ""
		}
		return fmt.Sprintf("%q %s", text, advice)
	}
}

var settingMeanings = map[string]about{
	"hosted_tools": {meaning: "tools that the model is not shown: `ignore` passes them over, `refuse` is a 400"},
	"access_log_client_key": {
		meaning: "adds [an id of the client's key](metrics.md#the-access-log) to the access log"},
}

var modelMeanings = map[string]about{
	"context_length":       {meaning: "the model's whole context, in tokens", flag: "--context-length"},
	"max_reasoning_tokens": {meaning: "how many tokens an answer may reason for", shown: "0, no limit"},
	"thinking_token_budget": {
		meaning: "`true`: the servers hold that limit themselves"},
	"drain_tokens": {meaning: "tokens that a server may send after a Chat stream has ended"},
	"structured_outputs": {
		meaning: "for servers without structural tags: `none` asks by the prompt alone, `refuse` is a 400: " +
			"[two kinds of servers](structured-outputs.md#two-kinds-of-servers)"},
	"control_tokens": {
		meaning: "`break` lets text through that spells control tokens, [broken](servers.md#prompts-as-text)"},
	"control_spellings": {
		meaning: "the control tokens of a model that is [rendered](vllm-render.md#control-tokens-in-text)",
		shown:   "those of all families"},
	"fallback_on_timeout_ms": {meaning: "how long [text](servers.md#answers-as-text) may look like a header, in ms"},
	"min_tokens_before_fallback": {
		meaning: "how many tokens such text must have before it is read as the answer"},
	"raw_prompts": {
		meaning: "`allow`: clients may POST prompts of their own to [the servers' path](pools.md#kinds)"},
	"reasoning_efforts.none":       {meaning: "what becomes of the effort `none`, which gpt-oss does not have"},
	"reasoning_efforts.minimal":    {meaning: "what becomes of the effort `minimal`"},
	"reasoning_efforts.xhigh":      {meaning: "what becomes of the effort `xhigh`"},
	"reasoning_efforts.max":        {meaning: "what becomes of the effort `max`"},
	"drop_commentary_from_history": {meaning: "`true` leaves old preambles out of later prompts"},
	"history.calls": {
		meaning: "past [calls](requests.md#past-calls): `sampled` as the model writes them, `template` as its chat template"},
	"history.results": {
		meaning: "their [results](requests.md#past-calls), in the order of the chat template or with the channel first"},
	"unsupported_content": {meaning: "images, files and sound: `drop` leaves a note"},
	"relay": {
		meaning: "`finish`, `retry`, `resume`: the service is [between](responses-service.md#streams-that-always-end)"},
	"aliases": {
		meaning: "[more names](opt-in.md) of the model; one `*` stands for any text, as in `openai/*`"},
	"overflow_model": {
		meaning: "the model that gets [what does not fit](pools.md#choice-by-length), with the same or other servers"},
	"translate": {meaning: "a share such as `10%`, or `observe`: [opting in by steps](opt-in.md)"},
	"speaks": {
		meaning: "`harmony`, `chat`, `hermes` …, `x-NAME`: what [the text](structure.md) of answers is"},
	"marker": {meaning: "the text before the answer, of a model that [speaks `marker`](structure.md): by default " +
		"`===FINAL===`. With `speaks: harmony` text without control tokens is split at it"},
	"extra_body": {
		meaning: "[defaults](chat-servers.md#defaults) of sampling, and the servers' own parameters"},
	"sampling_overrides":     {meaning: "[sampling](chat-servers.md#defaults) instead of the clients'"},
	"chat.reasoning_history": {meaning: "where [earlier reasoning](chat-servers.md#reasoning) goes"},
	"chat.think_tags": {
		meaning: "`anywhere`, `opened`, `off`: where [`<think>`](chat-servers.md#think-tags) is a tag"},
	"chat.developer_role": {meaning: "`keep` sends messages of developers as such"},
	"chat.late_instructions": {meaning: "where [later items](chat-servers.md#requests) of the system and the developer " +
		"go: `first` into the first message, `user` into a user's message, `keep` stays"},
	"chat.template_kwargs": {meaning: "arguments of the chat template; a client's own come first"},
	"server_extras": {
		meaning: "[the servers' own parameters](requests.md#the-servers-own-parameters) that clients may use"},
	"answers.hide_reasoning": {meaning: "`true` shows no client any reasoning"},
	"answers.reasoning_as_summary": {
		meaning: "`true` sends Responses clients the reasoning as its summary"},
	"answers.reasoning_summary": {
		meaning: "`always` sends all Responses clients the reasoning as its summary, not as content"},
	"answers.reasoning_fields": {meaning: "the fields of Chat that have reasoning"},
	"answers.undeclared_calls": {meaning: "what undeclared calls are shown as: or `content`, `call`"},
	"answers.max_choices":      {meaning: "the largest `n` of a Chat request, {range}"},
	"answers.strict": {
		meaning: "`true` ends answers that break the format: [strict](errors.md#strict)"},
	"answers.events": {meaning: "`channels`: Chat streams are [channel events](channel-events.md)"},
	"answers.require_final_channel": {
		meaning: "`true`: an answer needs a final message or a call"},
	"answers.harmony_messages": {meaning: "`true`: clients may `include` `harmony.messages`"},
	"answers.token_ids":        {meaning: "`true`: answers have their [token ids and logprobs](token-ids.md)"},
	"answers.context_error": {
		meaning: "`empty_length` [answers](token-ids.md) too long conversations with nothing"},
	"system.identity":         {meaning: "first line of the system message; `\"\"` leaves it out"},
	"system.knowledge_cutoff": {meaning: "`\"\"` leaves it out"},
	"system.date": {
		meaning: "`utc` is the day, `omit` no date, or a fixed day as `YYYY-MM-DD`", flag: "--date"},
	"system.effort": {meaning: "effort of requests that name none: `low`, `medium` or `high`"},
	"repetition_detection.reasoning": {
		meaning: "`end` ends an answer whose reasoning [repeats itself](ending-early.md#repetitions); `final` asks for the " +
			"answer, with `relay: resume`"},
	"repetition_detection.text":             {meaning: "`end` does so for its text and calls"},
	"repetition_detection.max_pattern_size": {meaning: "the longest pattern that is looked for, in tokens"},
	"repetition_detection.min_count":        {meaning: "how many copies of it are a repetition"},
	"repetition_detection.min_tokens":       {meaning: "how many tokens these have at least"},
}
