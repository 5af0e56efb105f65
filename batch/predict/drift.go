package predict

// drift watches for a world that has changed: on each side a sum of evidence that
// three times as many waits are outside as foretold (Page 1954, "Continuous
// inspection schemes").
type drift struct {
	Above float64 `json:"above"`
	Below float64 `json:"below"`
	Times []int64 `json:"times"` // of the last alarms
}

const (
	outsideMore = 1.0986123  // ln(0.3/0.1): a wait outside
	outsideLess = -0.2513144 // ln(0.7/0.9): one inside
	alarm       = 60         // outcomes come in bursts: 55 waits outside with none inside
	keptAlarms  = 100
)

// learn takes in an outcome at one of the outer levels and tells whether it is
// the one too many.
func (d *drift) learn(level int, within bool, now int64) bool {
	var sum *float64
	outside := !within
	switch levels[level] {
	case 0.1:
		sum, outside = &d.Below, within
	case 0.9:
		sum = &d.Above
	default:
		return false
	}
	if outside {
		*sum += outsideMore
	} else {
		*sum = max(0, *sum+outsideLess)
	}
	if *sum < alarm {
		return false
	}
	*sum = 0
	if d.Times = append(d.Times, now); len(d.Times) > keptAlarms {
		d.Times = d.Times[1:]
	}
	return true
}
