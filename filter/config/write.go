package config

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/jsontext"
)

// AppendJSON appends the configuration as Parse reads it, every setting written out.
func (c *Config) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"schema":`...)
	dst = jsontext.AppendInt(dst, int64(c.Schema))
	dst = appendMember(dst, `,"mode":`, c.Mode)
	dst = appendFlag(dst, `,"passthrough":`, c.Passthrough)
	dst = append(dst, `,"body_limit":`...)
	dst = jsontext.AppendInt(dst, int64(c.BodyLimit))
	dst = append(dst, `,"stall_timeout_ms":`...)
	dst = jsontext.AppendInt(dst, int64(c.StallTimeoutMS))
	dst = append(dst, `,"memory_limit":`...)
	dst = jsontext.AppendInt(dst, int64(c.MemoryLimit))
	dst = append(dst, `,"reasoning_ratio_alert":`...)
	dst = strconv.AppendFloat(dst, c.ReasoningRatioAlert, 'g', -1, 64)
	dst = c.Seal.appendJSON(dst)
	dst = c.ResponsesService.appendJSON(dst)
	dst = appendMember(dst, `,"hosted_tools":`, c.HostedTools)
	dst = append(dst, `,"models":[`...)
	for i := range c.Models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.Models[i].appendJSON(dst)
	}
	return append(dst, "]}"...)
}

func (m *Model) appendJSON(dst []byte) []byte {
	dst = appendMember(dst, `{"name":`, m.Name)
	dst = appendMember(dst, `,"pool":`, m.Pool)
	dst = appendMember(dst, `,"server":`, m.Server)
	dst = appendMember(dst, `,"server_model":`, m.ServerModel)
	dst = append(dst, `,"context_length":`...)
	dst = jsontext.AppendInt(dst, int64(m.ContextLength))
	dst = append(dst, `,"max_reasoning_tokens":`...)
	dst = jsontext.AppendInt(dst, int64(m.MaxReasoningTokens))
	dst = appendFlag(dst, `,"thinking_token_budget":`, m.ThinkingTokenBudget)
	dst = append(dst, `,"drain_tokens":`...)
	dst = jsontext.AppendInt(dst, int64(m.DrainTokens))
	dst = appendMember(dst, `,"structured_outputs":`, m.StructuredOutputs)
	dst = appendMember(dst, `,"raw_prompts":`, m.RawPrompts)
	dst = m.appendRequests(dst)
	dst = m.Answers.appendJSON(dst)
	dst = appendMember(dst, `,"system":{"identity":`, m.System.Identity)
	dst = appendMember(dst, `,"knowledge_cutoff":`, m.System.KnowledgeCutoff)
	dst = appendMember(dst, `,"date":`, m.System.Date)
	dst = appendMember(dst, `,"effort":`, m.System.Effort)
	return append(dst, "}}"...)
}

func appendFlag(dst []byte, key string, on bool) []byte {
	dst = append(dst, key...)
	if on {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func appendMember(dst []byte, key, value string) []byte {
	return jsontext.AppendString(append(dst, key...), value)
}
