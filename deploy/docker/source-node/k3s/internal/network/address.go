// Package network knows the node's address, the pods' network and the pods' name servers. It reads
// the kernel's tables and writes two files; it changes no interface.
package network

import (
	"net"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// NodeAddress returns the given address, or else the source address of the default route. Without
// a default route there is none, and the error says so.
func NodeAddress(given string) (net.IP, error) {
	if address := net.ParseIP(given); address != nil {
		return address, nil
	}
	return utilnet.ChooseHostInterface()
}

// ServiceAddress returns the n-th address of the service network.
func ServiceAddress(cidr string, n byte) (net.IP, error) {
	_, network, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil, err
	}
	address := append(net.IP(nil), network.IP...)
	address[len(address)-1] += n
	return address, nil
}
