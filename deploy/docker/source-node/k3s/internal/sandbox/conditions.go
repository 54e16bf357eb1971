package sandbox

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	typeReady     = "Ready"
	typeSuspended = "Suspended"
	typeFinished  = "Finished"
	typeScheduled = "PodScheduled"
)

// view is everything that decides the conditions of a sandbox that has not expired.
type view struct {
	profile                 Profile
	suspended, needsService bool
	children                children
	pod                     *corev1.Pod
}

// write brings the list up to date. Its order is that of first appearance.
func (v view) write(conditions *[]metav1.Condition, generation int64) {
	set := func(condition metav1.Condition) {
		condition.ObservedGeneration = generation
		meta.SetStatusCondition(conditions, condition)
	}
	if v.profile.ShowsSuspended && (v.suspended || v.profile.WaitsForPod) {
		set(v.suspension())
	}
	if v.profile.ShowsScheduling {
		if v.pod == nil && !v.children.isUnknown && !v.children.isMany {
			meta.RemoveStatusCondition(conditions, typeScheduled)
		} else {
			set(v.scheduling())
		}
	}
	if v.isTerminal() {
		set(metav1.Condition{
			Type: typeFinished, Status: metav1.ConditionTrue, Reason: v.terminalReason(),
			Message: "Pod is finished: " + string(v.pod.Status.Phase),
		})
	} else {
		meta.RemoveStatusCondition(conditions, typeFinished)
	}
	set(v.readiness())
}

func (v view) isTerminal() bool {
	return v.pod != nil &&
		(v.pod.Status.Phase == corev1.PodFailed || v.pod.Status.Phase == corev1.PodSucceeded)
}

func (v view) terminalReason() string { return "Pod" + string(v.pod.Status.Phase) }

func (v view) suspension() metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: typeSuspended, Status: status, Reason: reason, Message: message}
	}
	switch {
	case !v.suspended:
		return is(metav1.ConditionFalse, "NotSuspended", "Sandbox is not suspended")
	case !v.profile.WaitsForPod:
		return is(metav1.ConditionTrue, "PodTerminated", "Pod is terminated")
	case v.children.isUnknown || v.children.isMany:
		return is(metav1.ConditionUnknown, "PodStateUnknown", "The state of the pod is not known")
	case v.children.isForeign:
		return is(metav1.ConditionFalse, "PodNotOwned", "A pod of that name is not this Sandbox's")
	case v.pod != nil:
		return is(metav1.ConditionFalse, "PodTerminating", "Pod is terminating")
	}
	return is(metav1.ConditionTrue, "PodTerminated", "Pod is terminated")
}

func (v view) scheduling() metav1.Condition {
	if v.pod != nil {
		for _, one := range v.pod.Status.Conditions {
			if one.Type != corev1.PodScheduled {
				continue
			}
			reason := one.Reason
			if reason == "" && one.Status == corev1.ConditionTrue {
				reason = "PodScheduled"
			}
			if reason == "" {
				reason = "PodSchedulingUnknown"
			}
			return metav1.Condition{
				Type: typeScheduled, Status: metav1.ConditionStatus(one.Status), Reason: reason,
				Message: one.Message,
			}
		}
	}
	return metav1.Condition{
		Type: typeScheduled, Status: metav1.ConditionUnknown, Reason: "PodSchedulingUnknown",
		Message: "Pod has not been scheduled yet",
	}
}

// readiness: an error beats suspension, which beats the pod's phase.
func (v view) readiness() metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: typeReady, Status: status, Reason: reason, Message: message}
	}
	switch {
	case v.children.isMany:
		return is(metav1.ConditionFalse, "MultiplePods", "Several pods are controlled by this Sandbox")
	case v.children.err != nil:
		return is(metav1.ConditionFalse, "ReconcilerError", "Error seen: "+v.children.err.Error())
	case v.suspended && v.profile.ShowsSuspended:
		return is(metav1.ConditionFalse, "SandboxSuspended", "Sandbox is suspended")
	case v.profile.NamesTerminalPhase && v.isTerminal():
		return is(metav1.ConditionFalse, v.terminalReason(), "Pod is finished")
	}
	ready, message := v.podReadiness()
	if v.needsService && v.children.service == nil {
		ready, message = false, message+"; Service does not exist"
	}
	if ready {
		return is(metav1.ConditionTrue, "DependenciesReady", message)
	}
	return is(metav1.ConditionFalse, "DependenciesNotReady", message)
}

func (v view) podReadiness() (ready bool, message string) {
	switch {
	case v.pod == nil && v.suspended:
		return true, "Pod does not exist, replicas is 0"
	case v.pod == nil:
		return false, "Pod does not exist"
	case v.pod.Status.Phase != corev1.PodRunning:
		return false, "Pod exists with phase: " + string(v.pod.Status.Phase)
	case len(v.pod.Status.PodIPs) == 0:
		return false, "Pod has no IP address"
	}
	for _, one := range v.pod.Status.Conditions {
		if one.Type == corev1.PodReady && one.Status == corev1.ConditionTrue {
			return true, "Pod is Ready"
		}
	}
	return false, "Pod is Running but not Ready"
}
