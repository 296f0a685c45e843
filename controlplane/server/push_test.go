package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/harmonyedge/harmonyedge/controlplane/pushed"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
)

const pushMethod = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

// pusher is a peer of the control plane that pushes metrics.
type pusher struct {
	t    *testing.T
	conn *grpc.ClientConn
}

// newPusher connects a peer from an address of this machine, with a certificate if there is one.
func newPusher(t *testing.T, p *testServer, from string, secure *tls.Config) *pusher {
	t.Helper()
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", address)
	}
	creds := insecure.NewCredentials()
	if secure != nil {
		creds = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient(p.ads, grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &pusher{t: t, conn: conn}
}

// is opens an ADS stream of the Envoy id, and returns a function that ends it.
func (p *pusher) is(id string) (end func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(p.conn).DeltaAggregatedResources(ctx)
	if err == nil {
		err = stream.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType, Node: &corev3.Node{Id: id}})
	}
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return cancel
}

// pushes pushes that so many requests of an Envoy have failed, and returns the status.
func (p *pusher) pushes(name string, failed int64) codes.Code {
	p.t.Helper()
	return p.counts(name, "http.downstream_rq_xx", "envoy.response_code_class", "5", failed)
}

// counts pushes a counter of an Envoy with one label, and returns the status.
func (p *pusher) counts(name, counter, label, of string, n int64) codes.Code {
	p.t.Helper()
	return p.countsSince(1, name, counter, label, of, n)
}

// countsSince is counts for an Envoy whose counters have begun at a time, in nanoseconds since 1970.
func (p *pusher) countsSince(began uint64, name, counter, label, of string, n int64) codes.Code {
	p.t.Helper()
	text := func(key, value string) *commonv1.KeyValue {
		return &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}}
	}
	m := &metricsv1.MetricsData{ResourceMetrics: []*metricsv1.ResourceMetrics{{
		Resource: &resourcev1.Resource{Attributes: []*commonv1.KeyValue{text(pushed.InstanceAttribute, name)}},
		ScopeMetrics: []*metricsv1.ScopeMetrics{{Metrics: []*metricsv1.Metric{{Name: counter,
			Data: &metricsv1.Metric_Sum{Sum: &metricsv1.Sum{IsMonotonic: true,
				AggregationTemporality: metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
				DataPoints: []*metricsv1.NumberDataPoint{{StartTimeUnixNano: began,
					Attributes: []*commonv1.KeyValue{text(label, of)},
					Value:      &metricsv1.NumberDataPoint_AsInt{AsInt: n}}}}}}}}},
	}}}
	return status.Code(p.conn.Invoke(p.t.Context(), pushMethod, m, &emptypb.Empty{}, grpc.WaitForReady(true)))
}

// TestPushesOfOthers checks that a peer pushes only as the Envoy that it is, and takes no other's name over while that
// Envoy is connected.
func TestPushesOfOthers(t *testing.T) {
	authority := newAuthority(t)
	for _, secured := range []bool{false, true} {
		engine := newEngine(t, `{"id":"m"}`)
		p := start(t, folderWith(t, oneModel(engine.URL)), func(o *testOptions) {
			if secured {
				o.ADS = tls.NewListener(o.ADS, authority.server())
			}
		})
		p.ready()
		peer := func(from, certificate string) *pusher {
			if !secured {
				return newPusher(t, p, from, nil)
			}
			return newPusher(t, p, from, authority.client(certificate))
		}
		// Certificates tell peers apart, so an Envoy may change its address; without them the address does.
		one := peer("127.0.0.1", "edge-1")
		end := one.is("edge-1")
		stranger := peer("127.0.0.2", "edge-2")
		want := func(what string, got, want codes.Code) {
			t.Helper()
			if got != want {
				t.Errorf("certificates %v, %s: %v, want %v", secured, what, got, want)
			}
		}
		want("the Envoy itself", one.pushes("edge-1", 1), codes.OK)
		want("without a name", one.pushes("", 1), codes.OK)
		want("the Envoy as another", one.pushes("edge-2", 1), codes.PermissionDenied)
		want("no Envoy", stranger.pushes("edge-1", 1000), codes.PermissionDenied)
		want("no Envoy, without a name", stranger.pushes("", 1000), codes.PermissionDenied)
		stranger.is("edge-2")
		want("another Envoy", stranger.pushes("edge-1", 1000), codes.PermissionDenied)
		want("another Envoy as itself", stranger.pushes("edge-2", 1), codes.OK)
		impostor := peer("127.0.0.3", "edge-2")
		impostor.is("edge-1")
		want("another Envoy that says it is the first", impostor.pushes("edge-1", 1000), codes.PermissionDenied)
		want("the Envoy itself, beside it", one.pushes("edge-1", 2), codes.OK)
		again := peer("127.0.0.1", "edge-1") // an Envoy that is started again, before the old connection is known to be dead
		again.is("edge-1")
		want("the Envoy itself, again", again.pushes("edge-1", 3), codes.OK)
		end()
		eventually(t, "gone", func() bool { return len(p.Status().Envoys) == 3 })
		if n := p.metric(`harmony_controlplane_envoy_metrics_total{result="refused"}`); n != "5" {
			t.Errorf("%s pushes are refused", n)
		}
	}
}

// TestPushesOfOthersDecideNoRollout checks that a rollout does not see what a peer pushes under the names of others.
func TestPushesOfOthersDecideNoRollout(t *testing.T) {
	p, _ := startFleet(t)
	p.begins("2", "")
	stranger := newPusher(t, p, "127.0.0.2", nil)
	for failed := range int64(50) {
		for _, name := range []string{"one", "two"} {
			if code := stranger.pushes(name, 1000*failed); code != codes.PermissionDenied {
				t.Fatalf("a push as %s: %v", name, code)
			}
		}
	}
	p.state(rollout.Done)
}

// authority makes certificates for a test.
type authority struct {
	t    *testing.T
	root *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	a.root = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}
	made := a.issue(a.root)
	a.root, a.key = made.Leaf, made.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(a.root)
	return a
}

// issue signs a certificate, with its own key if there is no other yet.
func (a *authority) issue(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// named issues a certificate with a name.
func (a *authority) named(name string) tls.Certificate {
	return a.issue(&x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
}

func (a *authority) server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.named("plane")}, NextProtos: []string{"h2"}, ClientCAs: a.pool,
		ClientAuth: tls.RequireAndVerifyClientCert}
}

func (a *authority) client(name string) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.named(name)}, RootCAs: a.pool, ServerName: "plane"}
}
