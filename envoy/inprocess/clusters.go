package inprocess

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	overridev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	httpOptions        = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	credentialInjector = "envoy.filters.http.credential_injector"
)

func readClusters(r *xds.Resources) ([]proxy.Cluster, error) {
	var out []proxy.Cluster
	for _, c := range r.Clusters {
		one, err := readCluster(c)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", c.GetName(), err)
		}
		if isPinned(c) {
			if !slices.Contains(r.Prefill, c.GetName()) {
				return nil, errPicker
			}
			one.Pinned = contract.DestinationHeader
		}
		out = append(out, one)
	}
	return out, nil
}

func readCluster(c *clusterv3.Cluster) (proxy.Cluster, error) {
	out := proxy.Cluster{Name: c.GetName()}
	for _, policy := range c.GetLoadBalancingPolicy().GetPolicies() {
		m := &maglevv3.Maglev{}
		if typed := policy.GetTypedExtensionConfig().GetTypedConfig(); typed.MessageIs(m) {
			if err := typed.UnmarshalTo(m); err != nil {
				return out, err
			}
			out.MaxLoad = int(m.GetConsistentHashingLbConfig().GetHashBalanceFactor().GetValue())
		}
	}
	for _, locality := range c.GetLoadAssignment().GetEndpoints() {
		if locality.GetPriority() > 0 {
			return out, errors.New("spares need Envoy: leave spares out, or use --host envoy")
		}
		for _, e := range locality.GetLbEndpoints() {
			a := e.GetEndpoint().GetAddress().GetSocketAddress()
			out.Endpoints = append(out.Endpoints, proxy.Endpoint{
				Address:  net.JoinHostPort(a.GetAddress(), strconv.Itoa(int(a.GetPortValue()))),
				Hostname: e.GetEndpoint().GetHostname(),
			})
		}
	}
	if packed := c.GetTypedExtensionProtocolOptions()[httpOptions]; packed != nil {
		o := &upstreamhttpv3.HttpProtocolOptions{}
		if err := packed.UnmarshalTo(o); err != nil {
			return out, err
		}
		if slices.ContainsFunc(o.GetHttpFilters(), func(f *hcmv3.HttpFilter) bool { return f.GetName() == credentialInjector }) {
			return out, errors.New("authorization needs Envoy: leave authorization out, or use --host envoy")
		}
		out.Outliers = readOutliers(c.GetOutlierDetection(), o)
		out.HTTP2 = o.GetExplicitHttpConfig().GetHttp2ProtocolOptions() != nil
		out.IdleTimeout = o.GetCommonHttpProtocolOptions().GetIdleTimeout().AsDuration()
		out.SingleUse = o.GetCommonHttpProtocolOptions().GetMaxRequestsPerConnection().GetValue() == 1
	}
	var err error
	if socket := c.GetTransportSocket(); socket != nil {
		u := &tlsv3.UpstreamTlsContext{}
		if err := socket.GetTypedConfig().UnmarshalTo(u); err != nil {
			return out, err
		}
		out.TLS, err = readTLS(u)
	}
	return out, err
}

// readOutliers reads when a server is put out: after failures in a row.
func readOutliers(d *clusterv3.OutlierDetection, o *upstreamhttpv3.HttpProtocolOptions) proxy.Outliers {
	out := proxy.Outliers{
		Failures: int(d.GetConsecutive_5Xx().GetValue()), Percent: int(d.GetMaxEjectionPercent().GetValue()),
		Time: d.GetBaseEjectionTime().AsDuration(), Max: d.GetMaxEjectionTime().AsDuration(),
	}
	for _, h := range o.GetOutlierDetection().GetErrorMatcher().GetHttpResponseHeadersMatch().GetHeaders() {
		for text := range strings.SplitSeq(h.GetStringMatch().GetSafeRegex().GetRegex(), "|") {
			if status, err := strconv.Atoi(text); err == nil {
				out.Statuses = append(out.Statuses, status)
			}
		}
	}
	return out
}

// isPinned reports whether a header of each call names its server, which is the only way in which the resources choose a
// server of a cluster without a route. Its filters remove the header, as the proxy does by itself.
func isPinned(c *clusterv3.Cluster) bool {
	policies := c.GetLoadBalancingPolicy().GetPolicies()
	return len(policies) > 0 && policies[0].GetTypedExtensionConfig().GetTypedConfig().MessageIs(&overridev3.OverrideHost{})
}

func readTLS(u *tlsv3.UpstreamTlsContext) (*tls.Config, error) {
	file := u.GetCommonTlsContext().GetValidationContext().GetTrustedCa().GetFilename()
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("trusted certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificates", file)
	}
	// The certificate must be for the server's own name, which the proxy sets.
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}
