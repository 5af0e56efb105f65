package predict

// mixed is a distribution in the light of what other policies would do: under each
// it lies as much later or earlier, in doublings, as the wait of similar jobs
// does, and has the chance of the policy.
func mixed(d Distribution, o *Outlook) Distribution {
	if !o.seen() {
		return d
	}
	parts, chances, own := []Distribution{d}, []float64{1}, 1.0
	from := scale(float64(o.Waits[bySimilar]))
	for _, other := range o.Others {
		shift := min(scale(float64(other.Wait)), longest) - from
		if shift == 0 || other.Chance <= 0 {
			continue
		}
		at := d.at
		for k := range at {
			at[k] += shift
		}
		parts, chances, own = append(parts, spread(at)), append(chances, other.Chance), own-other.Chance
	}
	if len(parts) == 1 {
		return d
	}
	chances[0] = max(own, 0)
	var at [nLevels]float64
	for k, level := range levels {
		at[k] = joint(parts, chances, level)
	}
	return spread(at)
}

// joint is the quantile of a level of several distributions, each with a chance,
// on the scale of doublings.
func joint(parts []Distribution, chances []float64, level float64) float64 {
	low, high, sum := float64(longest), 0.0, 0.0
	for i, d := range parts {
		low, high, sum = min(low, d.at[0]), max(high, d.at[nLevels-1]), sum+chances[i]
	}
	for range 40 {
		middle, chance := (low+high)/2, 0.0
		for i, d := range parts {
			chance += chances[i] * d.Chance(unscale(middle)) / sum
		}
		if chance < level {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
