package agent

import (
	"context"
	"reflect"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/predict"
)

// rulesAge is how long what a batch system said of its rules is gone by: shares
// and parameters change.
const rulesAge = 10 * time.Minute

// Candidates are the policies that a batch system may have which does not say.
func Candidates() []batch.Policy {
	return []batch.Policy{{Name: "easy"}, {Name: "fcfs"}, {Name: "conservative"}, {Name: "easy-sjbf"}, {Name: "slurm"}}
}

// govern asks the batch system by which rules it decides, now and then, and
// changes the model's policy to them. Where it does not say, or does not show all
// jobs, the policy is the one that fits best what was seen to start.
func govern(ctx context.Context, a *Agent, s batch.State, ended []batch.Ending) error {
	policy := a.Forecast.Policy
	asked, told := askRules(ctx, a)
	if told {
		policy = asked
	}
	if !told && a.fit == nil {
		return nil
	}
	if a.fit != nil {
		weigh(a, s, ended)
		policy = a.fit.Best()
	}
	if reflect.DeepEqual(policy, a.Forecast.Policy) {
		return nil
	}
	if policy.Name != a.Forecast.Policy.Name {
		a.Log.Info("the policy is another", "policy", policy.Name, "was", a.Forecast.Policy.Name)
	}
	a.Forecast.Policy = policy
	if a.live == nil {
		return nil
	}
	return a.begin(a.live.State(), nil)
}

// askRules is what the batch system says; false: nothing new.
func askRules(ctx context.Context, a *Agent) (batch.Policy, bool) {
	now := a.Now()
	if a.Rules == nil || now.Before(a.nextRules) {
		return batch.Policy{}, false
	}
	a.nextRules = now.Add(rulesAge)
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r, err := a.Rules.Rules(ctx)
	if err != nil {
		a.Log.Warn("the batch system does not tell its rules", "error", err)
		if a.fit == nil && a.ruled == nil {
			infer(a, Candidates())
		}
		return batch.Policy{}, false
	}
	if a.ruled == nil || !reflect.DeepEqual(a.ruled.Unmodelled, r.Unmodelled) {
		for _, what := range r.Unmodelled {
			a.Log.Warn("decides what starts here, and is not modelled", "what", what)
		}
	}
	if hid := a.ruled != nil && a.ruled.Hidden; r.Hidden && !hid {
		a.Log.Warn("jobs of others are hidden from this account: the policy is the one that fits what is seen")
	}
	a.ruled = &r
	switch {
	case !r.Hidden:
		a.fit = nil
	case a.fit == nil:
		infer(a, append([]batch.Policy{r.Policy}, Candidates()...))
	}
	return r.Policy, true
}

// infer begins to find out the policy among candidates, with what is remembered
// of them.
func infer(a *Agent, candidates []batch.Policy) {
	a.fit = batch.NewFit(candidates...)
	if a.recalled != nil && len(a.recalled.Fit) > 0 {
		if err := a.fit.UnmarshalJSON(a.recalled.Fit); err != nil {
			a.Log.Info("what was learned of policies is of others", "error", err)
		}
	}
}

// weigh holds the candidates against what started, which costs a run of the
// schedule for each: a tenth of the time goes into it at most.
func weigh(a *Agent, s batch.State, ended []batch.Ending) {
	if a.Now().Before(a.nextFit) {
		a.unjudged = append(a.unjudged, ended...)
		return
	}
	began := time.Now()
	if a.fit.Look(s, append(a.unjudged, ended...)) {
		a.nextFit = a.Now().Add(10 * time.Since(began))
		a.Meter.fitted(a.fit)
	}
	a.unjudged = nil
}

// doubts are the policies that the cluster may have beside the one taken. Their
// chances are as they fit; where starts come otherwise than the best foretells, or
// little was seen yet, they are no less in all than the share that does.
func doubts(fit *batch.Fit) (list []predict.Doubt) {
	if fit == nil {
		return nil
	}
	best, others := fit.Best(), 0.0
	for _, w := range fit.Weights() {
		if !reflect.DeepEqual(w.Policy, best) {
			list = append(list, predict.Doubt{Policy: w.Policy, Chance: w.Weight})
			others += w.Weight
		}
	}
	doubt, windows := fit.Misses()
	if windows < leastLearned {
		doubt = mostDoubt
	}
	if doubt = min(doubt, mostDoubt); others >= doubt {
		doubt = others
	}
	for i := range list { // the least likely gets a little of what the fit leaves open
		even := max(0, doubt-others) / float64(len(list))
		list[i].Chance += even
	}
	return slices.DeleteFunc(list, func(d predict.Doubt) bool { return d.Chance < leastDoubt })
}

const (
	mostDoubt  = 0.5  // chance of all other policies where nothing speaks for one
	leastDoubt = 0.02 // a policy less likely costs more than it tells
)
