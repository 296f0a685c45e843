package sim

// usage is the number of tokens of an answer, in vLLM's order.
type usage struct {
	PromptTokens     int           `json:"prompt_tokens"`
	TotalTokens      int           `json:"total_tokens"`
	CompletionTokens int           `json:"completion_tokens"`
	Details          *usageDetails `json:"prompt_tokens_details,omitempty"`
}

// usageDetails are a member of [usage].
type usageDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// usage returns vLLM's usage of an answer of n tokens.
func (j *job) usage(n int) *usage {
	return &usage{PromptTokens: len(j.c.ids), TotalTokens: len(j.c.ids) + n, CompletionTokens: n}
}

// allUsage returns vLLM's usage at the end of a stream.
func (j *job) allUsage() *usage {
	u := j.usage(j.c.choices() * len(j.gen.ids))
	u.Details = j.details()
	return u
}

func (j *job) details() *usageDetails {
	if !j.s.opt.PromptTokensDetails {
		return nil
	}
	return &usageDetails{CachedTokens: j.cached}
}
