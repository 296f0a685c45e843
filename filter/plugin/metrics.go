package plugin

// metric is a counter: the host's number for it, plus one. 0 is none, where the host would have none.
type metric uint32

// metrics are what the filter counts, in all VMs of the host together (docs/modes.md).
type metrics struct {
	// editsRefused counts requests that the host did not let us rewrite.
	editsRefused metric
	// responseChunks counts the pieces in which servers' answers came.
	responseChunks metric
	// reducedResets and reducedLateErrors count failures of servers that would have been a status in full mode: those
	// that cut the answer, and those that were told inside a stream.
	reducedResets, reducedLateErrors metric
}

func defineMetrics() metrics {
	return metrics{
		editsRefused:      defineCounter("harmony.edits_refused"),
		responseChunks:    defineCounter("harmony.response_chunks"),
		reducedResets:     defineCounter("harmony.reduced_resets"),
		reducedLateErrors: defineCounter("harmony.reduced_late_errors"),
	}
}
