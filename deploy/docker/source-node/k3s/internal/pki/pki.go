// Package pki mints the node's authorities and certificates and keeps them on disk: an authority
// is made once and never again, a leaf certificate is made anew when it no longer fits.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	leafLifetime      = 365 * 24 * time.Hour
	// renewBefore is how long before its end k3s renews a certificate at start.
	renewBefore = 90 * 24 * time.Hour
)

// Pair is a certificate with its key.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// Request says what a leaf certificate must be good for.
type Request struct {
	CommonName    string
	Organizations []string
	Names         []string
	Addresses     []net.IP
	Usage         x509.ExtKeyUsage
}

func serial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

// newAuthority mints a self-signed authority.
func newAuthority(name string, now time.Time) (*Pair, error) {
	number, err := serial()
	if err != nil {
		return nil, err
	}
	return sign(&x509.Certificate{
		SerialNumber:          number,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		NotBefore:             now.Add(-time.Minute),
		NotAfter:              now.Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil)
}

// newLeaf mints a certificate signed by the authority.
func newLeaf(authority *Pair, request Request, now time.Time) (*Pair, error) {
	number, err := serial()
	if err != nil {
		return nil, err
	}
	return sign(&x509.Certificate{
		SerialNumber: number,
		Subject:      pkix.Name{CommonName: request.CommonName, Organization: request.Organizations},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(leafLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{request.Usage},
		DNSNames:     request.Names,
		IPAddresses:  request.Addresses,
	}, authority)
}

func sign(template *x509.Certificate, authority *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	parent, signer := template, key
	if authority != nil {
		parent, signer = authority.Certificate, authority.Key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: certificate, Key: key}, nil
}

// fits reports whether an existing certificate can stay for this request.
func fits(pair, authority *Pair, request Request, now time.Time) bool {
	cert := pair.Certificate
	if cert.CheckSignatureFrom(authority.Certificate) != nil || now.Add(renewBefore).After(cert.NotAfter) {
		return false
	}
	if cert.Subject.CommonName != request.CommonName {
		return false
	}
	for _, name := range request.Names {
		if cert.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, address := range request.Addresses {
		if cert.VerifyHostname(address.String()) != nil {
			return false
		}
	}
	return true
}
