package ledger

import "fmt"

// Book has the sums of a client and a model since they were first seen. Tokens that were charged are those reserved,
// those used beyond a reservation, and those used without one; each of them is used, given back, or open.
type Book struct {
	Client string `json:"client"`
	Model  string `json:"model"`
	// Requests were reserved, Refused were not.
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"`
	// Reserved is the tokens of all reservations.
	Reserved int64 `json:"reserved"`
	// Overrun is the tokens that settled requests used beyond their reservation.
	Overrun int64 `json:"overrun"`
	// Unreserved is the tokens of requests that were settled without a reservation.
	Unreserved int64 `json:"unreserved"`
	// Used is the tokens of settled requests.
	Used int64 `json:"used"`
	// Refunded is the tokens that were reserved and not used.
	Refunded int64 `json:"refunded"`
	// Open is the tokens reserved by OpenRequests, which run.
	Open         int64 `json:"open"`
	OpenRequests int64 `json:"open_requests"`
	// Lost is the tokens reserved by LostRequests, which were not settled within the slot's lifetime. They count as used.
	Lost         int64 `json:"lost"`
	LostRequests int64 `json:"lost_requests"`
}

// Balance returns an error unless every token that was charged is accounted for.
func (b *Book) Balance() error {
	if charged, known := b.Reserved+b.Overrun+b.Unreserved, b.Used+b.Refunded+b.Open+b.Lost; charged != known {
		return fmt.Errorf("%s, %s: %d tokens were charged, and %d are accounted for", b.Client, b.Model, charged, known)
	}
	return nil
}

// sums returns the names of all sums, as in JSON, with their places.
func (b *Book) sums() map[string]*int64 {
	return map[string]*int64{
		"requests": &b.Requests, "refused": &b.Refused, "reserved": &b.Reserved, "overrun": &b.Overrun,
		"unreserved": &b.Unreserved, "used": &b.Used, "refunded": &b.Refunded, "open": &b.Open,
		"open_requests": &b.OpenRequests, "lost": &b.Lost, "lost_requests": &b.LostRequests,
	}
}

// Sum returns the place of a sum by its name in JSON, or nil.
func (b *Book) Sum(name string) *int64 { return b.sums()[name] }

// Add adds the sums of another book.
func (b *Book) Add(o *Book) {
	from := o.sums()
	for name, to := range b.sums() {
		*to += *from[name]
	}
}

// open begins a reservation.
func (b *Book) open(tokens int64) {
	b.Requests++
	b.Reserved += tokens
	b.Open += tokens
	b.OpenRequests++
}

// close ends a reservation that is open, or lost.
func (b *Book) close(tokens int64, lost bool) {
	if lost {
		b.Lost -= tokens
		b.LostRequests--
		return
	}
	b.Open -= tokens
	b.OpenRequests--
}

// lose gives up a reservation that nobody has settled.
func (b *Book) lose(tokens int64) {
	b.close(tokens, false)
	b.Lost += tokens
	b.LostRequests++
}

// settle says what was used of a reservation.
func (b *Book) settle(tokens, used int64) {
	b.Used += used
	b.Refunded += max(tokens-used, 0)
	b.Overrun += max(used-tokens, 0)
}
