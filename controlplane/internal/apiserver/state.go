package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// MaxEndpoints is how many endpoints one object may have, ready or not.
const MaxEndpoints = 10_000

var errTooMany = fmt.Errorf("more than %d endpoints", MaxEndpoints)

// TooMany reports whether an error is that an object has more endpoints than [MaxEndpoints].
func TooMany(err error) bool { return errors.Is(err, errTooMany) }

// State is what is known of an object that has endpoints, at one moment.
type State struct {
	// Addresses are the addresses of the endpoints that are ready, sorted. Each occurs once.
	Addresses []netip.AddrPort
	// Listed reports whether the API server has listed the object's endpoints since the beginning.
	Listed bool
	// Err is why the API server cannot be followed. Addresses are the last known ones then. See [Refusal] and [TooMany].
	Err error
	// Problem is what is wrong with the object, so that endpoints are left out.
	Problem string
}

// Equal reports whether two states differ in nothing.
func (s *State) Equal(other *State) bool {
	return s.Listed == other.Listed && s.Problem == other.Problem && slices.Equal(s.Addresses, other.Addresses) &&
		(s.Err == nil) == (other.Err == nil) && (s.Err == nil || s.Err.Error() == other.Err.Error())
}

// SetEndpoints sets the addresses, sorted and each once. endpoints is how many there are, ready or not. If these are
// too many, the addresses stay as they are, and that is the problem.
func (s *State) SetEndpoints(addresses []netip.AddrPort, endpoints int, problem string) {
	s.Problem = problem
	if endpoints > MaxEndpoints {
		s.Problem = errTooMany.Error()
		return
	}
	slices.SortFunc(addresses, netip.AddrPort.Compare)
	s.Addresses = slices.Compact(addresses)
}

// MaxListed is how many ports or problems a text lists.
const MaxListed = 4

// Join joins problems, of which the first few are listed.
func Join(problems []string) string {
	if more := len(problems) - MaxListed; more > 0 {
		problems = append(problems[:MaxListed:MaxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "; ")
}

// Refusal is an answer of the API server with a status that is an error.
type Refusal struct {
	Verb, Resource, Namespace string
	Status                    int
	// Unknown is what a 404 means: the API server does not know the kind of object. "" if it always does.
	Unknown string
}

// Error implements error. The text has nothing that the API server sent.
func (r *Refusal) Error() string {
	switch {
	case r.Status == http.StatusForbidden:
		return fmt.Sprintf("the API server answers 403: the control plane may not %s %s in the namespace %s; "+
			"give its service account the Role of docs/control-plane.md", r.Verb, r.Resource, r.Namespace)
	case r.Status == http.StatusUnauthorized:
		return "the API server answers 401: it does not accept the control plane's credentials"
	case r.Status == http.StatusNotFound && r.Unknown != "":
		return "the API server answers 404: " + r.Unknown
	}
	return fmt.Sprintf("the API server answers %d", r.Status)
}
