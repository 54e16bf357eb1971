// Package sandbox is a controller of the Sandbox resource (agents.x-k8s.io) for clusters that cannot
// have upstream's. It behaves as one of three ranges of upstream's releases do, which differ in what
// they show, and has knobs that bring about what is rare.
package sandbox

import "fmt"

// Profile is what a range of upstream's releases does. The fields say where the ranges differ.
type Profile struct {
	// Name is P1, P2 or P3.
	Name string
	// Version is the API version that is read, written and named in owner references.
	Version string
	// Replicas says that `spec.replicas` is the wish to run, instead of `spec.operatingMode`.
	Replicas bool
	// AlwaysService makes a Service for every sandbox, asked for or not.
	AlwaysService bool
	// ServicePorts gives a Service one port for each of the containers' ports.
	ServicePorts bool
	// AdoptsAnyOrphan takes over whatever has no controller, without a label that allows it.
	AdoptsAnyOrphan bool
	// OverridesSystemLabels lets the template's metadata replace the controller's own.
	OverridesSystemLabels bool
	// NamesTerminalPhase gives Ready the reason PodFailed or PodSucceeded.
	NamesTerminalPhase bool
	// ShowsSuspended writes the condition Suspended.
	ShowsSuspended bool
	// WaitsForPod writes Suspended=True when the pod is gone, and Suspended=False while it runs.
	// Without it, True is written as soon as the pod's deletion was sent, and never taken back.
	WaitsForPod bool
	// ShowsScheduling copies the pod's condition PodScheduled.
	ShowsScheduling bool
	// CountsPods refuses to do anything while a sandbox has several pods.
	CountsPods bool
	// LocksStatus writes the status of the version that was read only.
	LocksStatus bool
}

// ProfileOf returns the profile of that name.
func ProfileOf(name string) (Profile, error) {
	switch name {
	case "P1": // v0.3.10 to v0.4.6
		return Profile{
			Name: name, Version: "v1alpha1", Replicas: true, AlwaysService: true,
			AdoptsAnyOrphan: true, OverridesSystemLabels: true, LocksStatus: true,
		}, nil
	case "P2": // v0.5.1 to v0.5.3
		return Profile{
			Name: name, Version: "v1beta1", NamesTerminalPhase: true, ShowsSuspended: true,
			LocksStatus: true,
		}, nil
	case "P3": // v0.5.4 and later
		return Profile{
			Name: name, Version: "v1beta1", ServicePorts: true, NamesTerminalPhase: true,
			ShowsSuspended: true, WaitsForPod: true, ShowsScheduling: true, CountsPods: true,
		}, nil
	}
	return Profile{}, fmt.Errorf("no profile is called %q: P1, P2 and P3 are", name)
}
