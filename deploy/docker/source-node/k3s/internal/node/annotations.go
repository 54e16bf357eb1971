package node

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"net"
	"strings"
)

const masked = "********"

// secretFlags are the flags whose values k3s does not show on its Node.
var secretFlags = map[string]bool{"token": true, "t": true, "agent-token": true}

// Annotations returns what k3s notes on its Node: its address, and the arguments and environment it
// was started with, tokens masked.
func Annotations(name string, address net.IP, args, environment []string) map[string]string {
	shownArgs := encoded(maskArgs(args))
	shownEnv := encoded(maskEnvironment(environment))
	digest := sha256.Sum256([]byte(shownArgs + shownEnv))
	return map[string]string{
		"k3s.io/hostname":         name,
		"k3s.io/internal-ip":      address.String(),
		"k3s.io/node-args":        shownArgs,
		"k3s.io/node-env":         shownEnv,
		"k3s.io/node-config-hash": base32.StdEncoding.EncodeToString(digest[:]),
	}
}

// maskArgs splits `--flag=value` as k3s does and hides the values of secret flags.
func maskArgs(args []string) []string {
	out := []string{}
	hide := false
	for _, arg := range args {
		if hide {
			out, hide = append(out, masked), false
			continue
		}
		name, value, joined := strings.Cut(arg, "=")
		if !strings.HasPrefix(arg, "-") {
			out = append(out, arg)
			continue
		}
		out = append(out, name)
		secret := secretFlags[strings.TrimLeft(name, "-")]
		switch {
		case joined && secret:
			out = append(out, masked)
		case joined:
			out = append(out, value)
		default:
			hide = secret
		}
	}
	return out
}

func maskEnvironment(environment []string) map[string]string {
	out := map[string]string{}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "K3S_") {
			continue
		}
		if strings.HasSuffix(name, "TOKEN") {
			value = masked
		}
		out[name] = value
	}
	return out
}

func encoded(value any) string {
	text, _ := json.Marshal(value) // strings only: cannot fail
	return string(text)
}
