package xds

import (
	"errors"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// secrets returns Envoy's secrets, by the names of the configuration, with their values or with where Envoy finds them.
func (b *builder) secrets() []*tlsv3.Secret {
	var all []*tlsv3.Secret
	for i := range b.config.Secrets {
		s := &b.config.Secrets[i]
		if !b.config.Uses(s.Name) {
			continue
		}
		one := &tlsv3.Secret{Name: s.Name}
		value, known := b.options.Secrets[s.Name]
		switch {
		case b.options.Secrets != nil && !known:
			b.fail(errors.New("the value of the secret " + s.Name + " is not known"))
		case s.IsCertificate():
			pair := &tlsv3.TlsCertificate{CertificateChain: file(s.Certificate), PrivateKey: file(s.Key)}
			if known {
				pair = &tlsv3.TlsCertificate{CertificateChain: inline(value.Certificate), PrivateKey: inline(value.Key)}
			}
			one.Type = &tlsv3.Secret_TlsCertificate{TlsCertificate: pair}
		default:
			token := file(s.File)
			if s.Env != "" {
				token = &corev3.DataSource{Specifier: &corev3.DataSource_EnvironmentVariable{EnvironmentVariable: s.Env}}
			}
			if known {
				token = inline([]byte(value.Token))
			}
			one.Type = &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: token}}
		}
		all = append(all, one)
	}
	return all
}

func file(name string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
}

func inline(value []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: value}}
}

// secretConfig returns a reference to a secret, which is discovered or in the bootstrap.
func (b *builder) secretConfig(name string) *tlsv3.SdsSecretConfig {
	c := &tlsv3.SdsSecretConfig{Name: name}
	if b.options.Secrets != nil {
		c.SdsConfig = adsSource()
	}
	return c
}

// injectCredential returns a filter that sets the servers' authorization. Without one it returns nothing.
func (b *builder) injectCredential(p *config.ResolvedPool) []*hcmv3.HttpFilter {
	if p.Authorization == "" {
		return nil
	}
	generic := &genericv3.Generic{Credential: b.secretConfig(p.Authorization), HeaderValuePrefix: "Bearer "}
	return []*hcmv3.HttpFilter{
		{Name: injectorFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&injectorv3.CredentialInjector{
			Overwrite: true,
			Credential: &corev3.TypedExtensionConfig{
				Name: "envoy.http.injected_credentials.generic", TypedConfig: b.any(generic)},
		})}},
	}
}

const injectorFilter = "envoy.filters.http.credential_injector"

// serverTLS returns the TLS socket of a listener.
func (b *builder) serverTLS(secret string) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name: tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: b.any(&tlsv3.DownstreamTlsContext{
			RequireClientCertificate: wrapperspb.Bool(false),
			CommonTlsContext: &tlsv3.CommonTlsContext{
				AlpnProtocols:                  []string{"h2", "http/1.1"},
				TlsParams:                      &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
				TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{b.secretConfig(secret)},
			},
		})},
	}
}
