package openai

// readRest reads the members that say how the answer is made, and not what it says.
func (r *ResponsesRequest) readRest(name string, v value) *Error {
	switch name {
	case "truncation":
		word := ""
		if err := v.word(name, &word, "auto", "disabled"); err != nil || word == "" {
			return err
		}
		r.Truncate, r.Echo.Truncation = word == "auto", `"`+word+`"`
		return nil
	default:
		return r.Sampling.read(name, v)
	}
}
