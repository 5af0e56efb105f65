package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// taskOf names the kind of a job: its executable and, where the JDL has
// SignificantAttributes, the text of these; otherwise the number of slots and
// the runtime environments. Jobs of one kind are expected to run equally long
// on equal hardware.
func taskOf(job *jdl.Job) string {
	parts := []string{job.VO, path.Base(job.Executable)}
	if len(job.Significant) > 0 && job.Ad != nil {
		for _, name := range job.Significant {
			value := "undefined"
			if e, ok := job.Ad.Expr(name); ok {
				value = classad.Unparse(e)
			}
			parts = append(parts, strings.ToLower(name)+"="+value)
		}
	} else {
		tags := slices.Sorted(slices.Values(job.Demand.RuntimeEnvironments))
		parts = append(parts, fmt.Sprint(job.Demand.Slots), strings.Join(tags, ","))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return path.Base(job.Executable) + "-" + hex.EncodeToString(sum[:6])
}

// hardwareOf names the type of the resource's nodes and their speed relative
// to each other: HEP-SPEC06 per core where published, else the clock in MHz as
// a benchmark of its own. A resource that publishes neither is a type of its own.
func hardwareOf(r *glue.Resource) (name string, speed float64) {
	for _, b := range []string{"hepscore23", "hep-spec06"} {
		if v := r.Benchmarks[b]; v > 0 && !math.IsInf(v, 0) {
			return fmt.Sprintf("%s/%s=%.3g", r.CPUModel, "hep-spec06", v), v
		}
	}
	if r.CPUModel != "" && r.CPUClock.V > 0 {
		return fmt.Sprintf("%s/%d MHz", r.CPUModel, r.CPUClock.V), 0
	}
	return "at " + r.ID, 0
}
