package openai

// Withdraw withdraws the tool of this name from the place that is read on. The request's own tools must be there
// already. known reports whether there was such a tool, and shown whether the model has been shown it before this
// place: then it has to be told.
func (r *ResponsesRequest) Withdraw(name string) (known, shown bool) {
	d := &r.declared
	r.beginLatest(0)
	t := Tool{Name: name}
	last, known := d.latest[t.key()]
	if !known || last.gone {
		return known, false
	}
	last.gone = true
	d.latest[t.key()] = last
	front := r.isFront(len(r.Input))
	if front {
		r.changesFront()
	} else {
		r.lasts(false)
	}
	if front || last.Deferred {
		if d.unshown == nil {
			d.unshown = map[string]int{}
		}
		d.unshown[t.key()] = len(d.leading)
		return true, false
	}
	return true, true
}

// front returns the tools in front, without those that were withdrawn there.
func (r *ResponsesRequest) front() []Tool {
	d := &r.declared
	own := len(r.Tools)
	if len(d.unshown) == 0 {
		return append(r.Tools[:own:own], d.leading...)
	}
	all := make([]Tool, 0, own+len(d.leading))
	for i := range r.Tools {
		if _, unshown := d.unshown[r.Tools[i].key()]; !unshown {
			all = append(all, r.Tools[i])
		}
	}
	for i := range d.leading {
		if i >= d.unshown[d.leading[i].key()] {
			all = append(all, d.leading[i])
		}
	}
	return all
}

// gone returns the tools that are withdrawn in the end, by what they are known by.
func (d *declaredNames) gone() map[string]bool {
	var gone map[string]bool
	for key, tool := range d.latest {
		if tool.gone {
			if gone == nil {
				gone = map[string]bool{}
			}
			gone[key] = true
		}
	}
	return gone
}

// IsWithdrawn reports whether a tool was withdrawn, and not declared again since then.
func (r *ResponsesRequest) IsWithdrawn(t *Tool) bool { return isWithdrawn(r.Withdrawn, t) }

func isWithdrawn(withdrawn map[string]bool, t *Tool) bool {
	return len(withdrawn) > 0 && withdrawn[t.key()]
}
