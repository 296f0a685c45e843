package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// maxTemplateFile is the size of the largest tokenizer_config.json that is read. Some have all added tokens.
const maxTemplateFile = 32 << 20

// answerForm is what a response_template comes to here: values of settings of a model.
type answerForm struct{ speaks, thinkTags string }

// checkResponseTemplate reads the model's response_template, if it has one, and sets what follows from it.
func (m *Model) checkResponseTemplate() (reason string) {
	if m.ResponseTemplate == "" {
		return ""
	}
	form, err := readResponseTemplate(m.ResponseTemplate)
	switch {
	case err != nil:
		return err.Error()
	case m.Speaks != contract.SpeaksAuto && m.Speaks != form.speaks:
		return fmt.Sprintf("is for speaks: %s, and the model has speaks: %s; leave one of them out", form.speaks, m.Speaks)
	}
	m.Speaks = form.speaks
	if form.thinkTags != "" && m.Chat.ThinkTags == contract.ThinkLeading {
		m.Chat.ThinkTags = form.thinkTags
	}
	return ""
}

// resolveTemplates makes the names of templates absolute, from the folder of the configuration. They are read with it,
// and other files later.
func (c *Config) resolveTemplates(folder string) {
	for i := range c.Models {
		name := &c.Models[i].ResponseTemplate
		if *name == "" || filepath.IsAbs(*name) {
			continue
		}
		if absolute, err := filepath.Abs(filepath.Join(folder, *name)); err == nil {
			*name = absolute
		}
	}
}

// readResponseTemplate reads a tokenizer_config.json that has a response_template, or the template itself.
func readResponseTemplate(file string) (form answerForm, err error) {
	if info, err := os.Stat(file); err == nil && info.Size() > maxTemplateFile {
		return form, fmt.Errorf("%s is larger than %d bytes; write the response_template into a file of its own", file,
			maxTemplateFile)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return form, fmt.Errorf("cannot be read: %w", err)
	}
	var settings struct {
		Template *responseTemplate `json:"response_template"`
		Legacy   json.RawMessage   `json:"response_schema"`
		responseTemplate
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return form, fmt.Errorf("%s is no JSON of a response_template: %w", file, err)
	}
	template := settings.Template
	if template == nil {
		template = &settings.responseTemplate
	}
	if len(template.Fields) == 0 {
		if settings.Legacy != nil {
			return form, fmt.Errorf("%s has a response_schema, which transformers no longer reads, and no response_template; "+
				"write speaks", file)
		}
		return form, fmt.Errorf("%s has no response_template; write speaks", file)
	}
	return template.form()
}

// responseTemplate describes a model's answers, as transformers reads it from tokenizer_config.json.
type responseTemplate struct {
	Version *int                     `json:"version"`
	Fields  map[string]templateField `json:"fields"`
}

// templateField is how a part of an answer is written.
type templateField struct {
	Open        templateMark `json:"open"`
	OpenPattern string       `json:"open_pattern"`
	Close       templateMark `json:"close"`
	Pattern     string       `json:"close_pattern"`
	Content     string       `json:"content"`
	// Transform says which members of the content are a call's name and arguments.
	Transform json.RawMessage `json:"transform"`
	Arguments struct {
		Tag          string            `json:"tag_pattern"`
		UnquotedKeys bool              `json:"unquoted_keys"`
		Delimiters   []json.RawMessage `json:"string_delims"`
	} `json:"content_args"`
}

// templateMark is a mark, or marks of which each will do.
type templateMark []string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *templateMark) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*m = templateMark{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(m))
}

// opens returns what a field begins with: marks, and names in braces for what a pattern captures.
func (f *templateField) opens() []string { return skeletons(f.Open, f.OpenPattern) }

func skeletons(marks []string, pattern string) (all []string) {
	for _, mark := range marks {
		all = append(all, strings.TrimSpace(mark))
	}
	if pattern != "" {
		all = append(all, skeleton(pattern))
	}
	return all
}

var (
	capture  = regexp.MustCompile(`\(\?P<(\w+)>(?:[^()\\]|\\.|\[[^\]]*\])*\)`)
	anything = regexp.MustCompile(`\\[snr][*+?]*|\\d\+|\.[*+]\??`)
	escaped  = regexp.MustCompile(`\\(.)`)
	member   = regexp.MustCompile(`\{(?:content\.)?([\w.]+)\}`)
)

// skeleton returns a pattern without what it leaves open: space, digits, and the expressions of its captures.
func skeleton(pattern string) string {
	s := capture.ReplaceAllStringFunc(pattern, func(found string) string {
		if name := capture.FindStringSubmatch(found)[1]; name == "name" || name == "key" || name == "value" {
			return "{" + name + "}"
		}
		return ""
	})
	return escaped.ReplaceAllString(anything.ReplaceAllString(s, ""), "$1")
}

// templateCalls are the ways in which templates write calls, and their forms here. arguments is the pattern of an
// argument, or "" for JSON.
var templateCalls = []struct{ opens, arguments, speaks string }{
	{"<tool_call>", "", contract.SpeaksHermes},
	{"<tool_call><function={name}>", "<parameter={key}>{value}</parameter>", contract.SpeaksQwen3Coder},
	{"<tool_call>{name}", "<arg_key>{key}</arg_key><arg_value>{value}</arg_value>", contract.SpeaksGLM45},
	{"<|tool_call_begin|>functions.{name}:<|tool_call_argument_begin|>", "", contract.SpeaksKimiK2},
	{"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>", "", contract.SpeaksDeepSeekV3},
	{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}```json", "", contract.SpeaksDeepSeekV3},
	{`<｜DSML｜invoke name="{name}">`, `<｜DSML｜parameter name="{key}" string="">{value}</｜DSML｜parameter>`,
		contract.SpeaksDeepSeekV32},
	{"[TOOL_CALLS]", "", contract.SpeaksMistral},
	{"[TOOL_CALLS]{name}", "", contract.SpeaksMistral},
	{"[TOOL_CALLS]{name}[ARGS]", "", contract.SpeaksMistral},
	{"<|python_tag|>", "", contract.SpeaksLlama3JSON},
	{"<|channel|>commentary to=functions.{name}<|message|>", "", contract.SpeaksHarmony},
}

const advice = "; leave response_template out, and write speaks"

// form returns the form here that reads what the template describes. An error names what no form here reads.
func (t *responseTemplate) form() (form answerForm, err error) {
	if t.Version != nil && *t.Version != 1 {
		return form, fmt.Errorf("has the version %d, and 1 is known%s", *t.Version, advice)
	}
	form.speaks = contract.SpeaksChat
	if calls, ok := t.Fields["tool_calls"]; ok {
		if form.speaks = calls.calls(); form.speaks == "" {
			return form, fmt.Errorf("has tool_calls that begin with %q, in %s, and no form of calls here reads them%s",
				calls.opens(), calls.Content, advice)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		field := t.Fields[name]
		switch name {
		case "tool_calls", "role":
		case "thinking", "reasoning", "reasoning_content":
			if form.thinkTags, err = field.thinking(form.speaks); err != nil {
				return form, err
			}
		case "content":
			if opens := field.opens(); len(opens) > 0 && !slices.Contains(opens, "<|channel|>final<|message|>") {
				return form, fmt.Errorf("has content that begins with %q, and answers here have no such mark%s", opens, advice)
			}
		default:
			return form, fmt.Errorf("has a field %s, which no answer here has%s", name, advice)
		}
	}
	return form, nil
}

// calls returns the form of calls that reads the field, or "".
func (f *templateField) calls() string {
	if f.Arguments.UnquotedKeys || len(f.Arguments.Delimiters) > 0 {
		return ""
	}
	for _, taken := range member.FindAllSubmatch(f.Transform, -1) {
		if !slices.Contains([]string{"content", "name", "arguments", "parameters"}, string(taken[1])) {
			return "" // the JSON of a call has other members than those that forms know
		}
	}
	for _, known := range templateCalls {
		if slices.Contains(f.opens(), known.opens) && skeleton(f.Arguments.Tag) == known.arguments &&
			(f.Content == "json") == (known.arguments == "") {
			return known.speaks
		}
	}
	return ""
}

// openedByPrompt is how a template says that an answer may begin within reasoning.
const openedByPrompt = "(?:^|<think>)"

// thinking returns the setting for the field's marks. A form has marks of its own.
func (f *templateField) thinking(speaks string) (thinkTags string, err error) {
	opens, closes := f.opens(), skeletons(f.Close, f.Pattern)
	known := [][2]string{{"<think>", "</think>"}}
	switch speaks {
	case contract.SpeaksHarmony:
		known = [][2]string{{"<|channel|>analysis<|message|>", "<|end|>"}}
	case contract.SpeaksMistral:
		known = append(known, [2]string{"[THINK]", "[/THINK]"})
	}
	for _, marks := range known {
		if !slices.Contains(closes, marks[1]) {
			continue
		}
		switch {
		case slices.Contains(opens, marks[0]):
			return "", nil
		case slices.Contains(opens, openedByPrompt):
			return contract.ThinkOpened, nil
		}
	}
	if len(opens) == 0 {
		return "", errors.New("has thinking without a mark before it" + advice)
	}
	return "", fmt.Errorf("has thinking between %q and %q, and speaks: %s has other marks%s", opens, closes, speaks, advice)
}
