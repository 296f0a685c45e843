package inprocess

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// listener is the content of a listener's resource.
type listener struct {
	address          string
	module           string
	headersTimeout   time.Duration
	clientIdle       time.Duration
	maxStreams       int
	streamWindow     int
	connectionWindow int
	// statPrefix is the name of the connection manager in statistics. log is the format of the access log, or nil.
	statPrefix string
	log        *logFormat
	options    proxy.Options
}

// These are Envoy's defaults.
const (
	defaultBuffer     = 1 << 20
	defaultStreamIdle = 5 * time.Minute
	defaultClientIdle = time.Hour
	defaultWindow     = 16 << 20
	connectTimeout    = 5 * time.Second
)

func readListener(r *xds.Resources) (*listener, error) {
	if len(r.Listeners) != 1 {
		return nil, errors.New("only one listener works without Envoy: write one, or use --host envoy")
	}
	if r.Listeners[0].GetFilterChains()[0].GetTransportSocket() != nil {
		return nil, errors.New("TLS for clients needs Envoy: leave tls out, or use --host envoy")
	}
	m, err := r.ConnectionManager()
	if err != nil {
		return nil, err
	}
	if m.GetTracing() != nil {
		return nil, errors.New("tracing needs Envoy: leave tracing out, or use --host envoy")
	}
	if len(r.Runtime.GetFields()) > 0 {
		return nil, errors.New("capacity needs Envoy: leave capacity out, or use --host envoy")
	}
	socket := r.Listeners[0].GetAddress().GetSocketAddress()
	if socket == nil {
		return nil, errors.New("the listener has no socket address")
	}
	log, err := readAccessLog(m.GetAccessLog())
	if err != nil {
		return nil, fmt.Errorf("access log: %w", err)
	}
	l := &listener{
		statPrefix: m.GetStatPrefix(), log: log,
		address:        net.JoinHostPort(socket.GetAddress(), strconv.Itoa(int(socket.GetPortValue()))),
		headersTimeout: m.GetRequestHeadersTimeout().AsDuration(),
		clientIdle:     defaultClientIdle,
	}
	if idle := m.GetCommonHttpProtocolOptions().GetIdleTimeout(); idle != nil {
		l.clientIdle = idle.AsDuration()
	}
	h2 := m.GetHttp2ProtocolOptions()
	l.maxStreams = int(or(h2.GetMaxConcurrentStreams(), 1000))
	l.streamWindow = int(or(h2.GetInitialStreamWindowSize(), defaultWindow))
	l.connectionWindow = int(or(h2.GetInitialConnectionWindowSize(), defaultWindow))
	l.options = proxy.Options{
		BufferLimit:      int(or(r.Listeners[0].GetPerConnectionBufferLimitBytes(), defaultBuffer)),
		BufferLimitHTTP2: l.streamWindow,
		IdleTimeout:      defaultStreamIdle, ConnectTimeout: connectTimeout, Retries: 3,
		NormalizePath: m.GetNormalizePath().GetValue() && m.GetMergeSlashes(), ServerName: m.GetServerName(),
		UnescapeSlashes: m.GetPathWithEscapedSlashesAction() == hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD,
		NoUnderscores:   m.GetCommonHttpProtocolOptions().GetHeadersWithUnderscoresAction() == corev3.HttpProtocolOptions_REJECT_REQUEST,
		RequestTimeout:  m.GetRequestTimeout().AsDuration(),
		ForwardedFor:    m.GetUseRemoteAddress().GetValue(),
		KeepRequestID:   m.GetPreserveExternalRequestId(), SetRequestIDInResponse: m.GetAlwaysSetRequestIdInResponse(),
	}
	if idle := m.GetStreamIdleTimeout(); idle != nil {
		l.options.IdleTimeout = idle.AsDuration()
	}
	if l.options.ServerName == "" {
		l.options.ServerName = "envoy"
	}
	if len(r.Replies) > 0 {
		l.options.Shape = shape(r.Replies)
	}
	if err := l.readMutations(m.GetEarlyHeaderMutationExtensions()); err != nil {
		return nil, err
	}
	if l.options.Route, err = readRoutes(m.GetRouteConfig()); err != nil {
		return nil, err
	}
	return l, l.readFilters(m.GetHttpFilters())
}

func or(v *wrapperspb.UInt32Value, otherwise uint32) uint32 {
	if v == nil {
		return otherwise
	}
	return v.GetValue()
}

// readMutations reads early header mutations. It supports only the removal of headers by prefix.
func (l *listener) readMutations(all []*corev3.TypedExtensionConfig) error {
	for _, e := range all {
		m := &earlyv3.HeaderMutation{}
		if err := e.GetTypedConfig().UnmarshalTo(m); err != nil {
			return fmt.Errorf("early header mutation: %w", err)
		}
		for _, mutation := range m.GetMutations() {
			prefix := mutation.GetRemoveOnMatch().GetKeyMatcher().GetPrefix()
			if prefix == "" || l.options.RemoveRequestPrefix != "" {
				return errors.New("early header mutation: only one prefix to remove is supported here")
			}
			l.options.RemoveRequestPrefix = prefix
		}
	}
	return nil
}

// readFilters reads the HTTP filters. It requires one wasm filter, and the router after it.
func (l *listener) readFilters(filters []*hcmv3.HttpFilter) error {
	found := false
	for _, f := range filters {
		w := &wasmfilterv3.Wasm{}
		switch {
		case f.GetTypedConfig().MessageIs(w) && !found:
			found = true
			if err := f.GetTypedConfig().UnmarshalTo(w); err != nil {
				return err
			}
			if err := l.readPlugin(w.GetConfig()); err != nil {
				return fmt.Errorf("filter %s: %w", f.GetName(), err)
			}
		case f.GetName() == "envoy.filters.http.router", f.GetName() == "envoy.filters.http.stateful_session", f.GetName() == "envoy.filters.http.cors",
			f.GetName() == xds.AffinityFilter, f.GetName() == xds.PickerFilterName:
		case f.GetName() == xds.LimitsFilterName: // without limits on the routes it does nothing
		case f.GetName() == xds.HealthFilter: // Envoy's admin interface controls it
		case f.GetDisabled(): // only a route could turn it on, and none that does is accepted
		default:
			return fmt.Errorf("filter %s: only one wasm filter is supported here", f.GetName())
		}
	}
	if !found {
		return errors.New("there is no wasm filter")
	}
	return nil
}

func (l *listener) readPlugin(c *wasmv3.PluginConfig) error {
	l.module = c.GetVmConfig().GetCode().GetLocal().GetFilename()
	if l.module == "" {
		return errors.New("the module must be a local file")
	}
	configuration, err := configurationOf(c)
	if err != nil {
		return err
	}
	l.options.Plugin = wasmhost.Plugin{
		Name: c.GetName(), RootID: c.GetRootId(), VMID: c.GetVmConfig().GetVmId(), Configuration: configuration,
		Environment:                 environmentOf(c.GetVmConfig().GetEnvironmentVariables()),
		AllowOnHeadersStopIteration: c.GetAllowOnHeadersStopIteration().GetValue(),
		ReloadInterval:              c.GetReloadConfig().GetBackoff().GetBaseInterval().AsDuration(),
	}
	switch c.GetFailurePolicy() {
	case wasmv3.FailurePolicy_FAIL_RELOAD:
		l.options.Plugin.FailurePolicy = wasmhost.FailReload
	case wasmv3.FailurePolicy_FAIL_OPEN:
		l.options.Plugin.FailurePolicy = wasmhost.FailOpen
	default:
		l.options.Plugin.FailurePolicy = wasmhost.FailClosed
	}
	return nil
}

// environmentOf returns the environment of the module: the configured values, and this process's values of the named
// variables.
func environmentOf(v *wasmv3.EnvironmentVariables) map[string]string {
	environment := maps.Clone(v.GetKeyValues())
	for _, name := range v.GetHostEnvKeys() {
		if value, ok := os.LookupEnv(name); ok {
			if environment == nil {
				environment = map[string]string{}
			}
			environment[name] = value
		}
	}
	return environment
}

// configurationOf returns the configuration that the filter gets. As in Envoy, a StringValue is unwrapped.
func configurationOf(c *wasmv3.PluginConfig) ([]byte, error) {
	any := c.GetConfiguration()
	if any == nil {
		return nil, nil
	}
	s := &wrapperspb.StringValue{}
	if !any.MessageIs(s) {
		return nil, fmt.Errorf("a configuration of type %s is not supported here", any.GetTypeUrl())
	}
	if err := any.UnmarshalTo(s); err != nil {
		return nil, err
	}
	return []byte(s.GetValue()), nil
}

// forAnthropic reports whether a reply is for a client of Anthropic's API. id is the request's.
func forAnthropic(l *wasmhost.LocalReply) (id string, ok bool) {
	if l.Request == nil {
		return "", false
	}
	errors := l.State[contract.LogStatePrefix+contract.ErrorsState]
	return l.Request.Get("x-request-id"), xds.ForAnthropic(l.Request.Get(":path"), string(errors))
}

// shape returns a function that applies the rules of local_reply_config to a reply. No rule matches the filter's own
// replies, because those have no details.
func shape(replies []xds.LocalReply) func(*wasmhost.LocalReply) {
	return func(l *wasmhost.LocalReply) {
		for i := range replies {
			r := &replies[i]
			if !r.Matches(l.Status, l.Details, l.Cluster) {
				continue
			}
			body, contentType := r.Body()
			l.Status, l.Body, l.ContentType, l.Headers = r.Status(l.Status), []byte(body), contentType, r.Headers
			if id, ok := forAnthropic(l); ok {
				l.Body, l.Headers = r.AnthropicBody(id), r.AnthropicHeaders(id)
			}
			return
		}
	}
}
