package condor

import (
	"regexp"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// A type of GPU is a whole word in the name of a device, where case does not count. Slurm, too, takes a part of the name
// for the type (gres.conf(5), AutoDetect). Nothing is written with a backslash, which submit descriptions do not read as ClassAds do.
const beforeType, afterType, ofDevice = `regexp("(^|[^a-z0-9])`, `([^a-z0-9]|$)", `, `DeviceName, "i")`

// escaped is what stands in brackets in a pattern, and unescaped those brackets.
var escaped, unescaped = regexp.MustCompile(`[_.+]`), strings.NewReplacer("[ _]", "_", "[.]", ".", "[+]", "+")

// plainType is a type of GPU that a pattern can hold.
var plainType = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)

// deviceOf is what a GPU must be, as an expression over its properties, of a job that asks for one type.
func deviceOf(j *jdl.Job) string {
	types, _ := jdl.GPUTypes(j.Demand.RuntimeEnvironments)
	if len(types) != 1 || !plainType.MatchString(types[0]) {
		return ""
	}
	return deviceIs(types[0])
}

func deviceIs(gpu string) string {
	return beforeType + escaped.ReplaceAllStringFunc(gpu, func(c string) string {
		if c == "_" {
			return "[ _]"
		}
		return "[" + c + "]"
	}) + afterType + ofDevice
}

// deviceType is the type that an expression of deviceOf asks for; "" of any other.
func deviceType(expr string) string {
	begun, ok := strings.CutPrefix(expr, beforeType)
	inner, ended := strings.CutSuffix(begun, afterType+ofDevice)
	gpu := unescaped.Replace(inner)
	if !ok || !ended || !plainType.MatchString(gpu) || deviceIs(gpu) != expr {
		return ""
	}
	return gpu
}

// device reads require_gpus as this package writes it, and reports whether it is that; others are only kept.
func device(r *reader) bool {
	gpu := deviceType(r.get("require_gpus"))
	if gpu != "" {
		r.b.Add("RunTimeEnvironment", jdl.GPUTag+gpu)
	}
	return gpu != ""
}

// gpus asks for GPUs, and for their type, unless the latter is written beside what was kept of such wishes.
func (w *writer) gpus(j *jdl.Job) {
	device := deviceOf(j)
	if device == "" {
		w.number("request_gpus", int64(j.Demand.GPUs), "")
		return
	}
	w.number("request_gpus", int64(max(1, j.Demand.GPUs)), "")
	if ad := keptOf(j); ad == nil || !has(ad, requireGPUs) {
		w.set(requireGPUs, device)
	}
}

const requireGPUs = "require_gpus"

func has(ad *classad.Ad, name string) bool {
	_, ok := ad.Expr(name)
	return ok
}

// withDevice joins a wish that was kept with the type that the job asks for.
func withDevice(j *jdl.Job, name, kept string) string {
	device := deviceOf(j)
	if !classad.EqualFold(name, requireGPUs) || device == "" {
		return kept
	}
	return "(" + kept + ") && " + device
}
