package broker_test

import (
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/jdl/classad"
)

// TestFactTexts holds the text of every kind of fact: it is what tables and
// JSON documents show, and grid.match/v1 promises it.
func TestFactTexts(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	many := []string{"a", "b", "c", "d", "e"}
	texts := map[string]broker.Fact{
		"":                                     {},
		"SubmitTo ce:2119/jobmanager-pbs-long": {Kind: broker.SubmitTo, Name: "ce:2119/jobmanager-pbs-long"},
		"a or b":                               {Kind: broker.OneOf, Names: many[:2]},
		"a resource where the job was not tried yet": {Kind: broker.NotTriedYet},
		"serving state production":                   {Kind: broker.ServingState, Name: "production"},
		"a healthy endpoint":                         {Kind: broker.HealthyEndpoint},
		"an interface that takes jobs":               {Kind: broker.TakingInterface},
		"fewer than 10 waiting jobs":                 {Kind: broker.FewerJobs, Amount: 10, Name: "waiting"},
		"no downtime while the job runs":             {Kind: broker.NoDowntime},
		"a record younger than 12h":                  {Kind: broker.YoungerThan, Amount: 43200, Unit: broker.Seconds},
		"queue long":                                 {Kind: broker.InQueue, Name: "long"},
		"VO:atlas":                                   {Kind: broker.MemberOf, Name: "atlas"},
		"a or b or c or d or ...":                    {Kind: broker.HolderOf, Names: many},
		"access without a VO":                        {Kind: broker.WithoutVO},
		"a number":                                   {Kind: broker.NumericRank},
		"a resource that works":                      {Kind: broker.WorkingResource},
		"a resource that is well":                    {Kind: broker.WellResource},
		"other.X > 1":                                {Kind: broker.ExpressionHolding, Name: "other.X > 1"},
		"ROOT-6":                                     {Kind: broker.Name, Name: "ROOT-6"},
		"2000 MB":                                    {Kind: broker.Quantity, Amount: 2000, Unit: broker.Megabytes},
		"1h30m":                                      {Kind: broker.Quantity, Amount: 5400, Unit: broker.Seconds},
		"8 slots on one node":                        {Kind: broker.Quantity, Amount: 8, Unit: broker.SlotsOnNode},
		"at least 1m":                                {Kind: broker.AtLeast, Amount: 60, Unit: broker.Seconds},
		"7":                                          {Kind: broker.Count, Amount: 7},
		"memory not published":                       {Kind: broker.NotPublished, Name: "memory"},
		"no tags published":                          {Kind: broker.NonePublished, Name: "tags"},
		"a, b, c, d, ...":                            {Kind: broker.Listed, Names: many},
		"another entry for that VO":                  {Kind: broker.AnotherView},
		"endpoint health critical":                   {Kind: broker.EndpointHealth, Name: "critical"},
		"endpoint draining":                          {Kind: broker.EndpointServing, Name: "draining"},
		"wiki, shown only":                           {Kind: broker.ShownOnly, Name: "wiki"},
		"no endpoint for jobs":                       {Kind: broker.NoEndpoint},
		"down from 2026-11-21 12:00Z to 2026-11-21 13:00Z: disks": {Kind: broker.DownFrom, From: noon, Until: noon.Add(time.Hour), Said: "disks"},
		"down from 2026-11-21 12:00Z":                             {Kind: broker.DownFrom, From: noon},
		"13h old":                                                 {Kind: broker.AgeOf, Amount: 46800, Unit: broker.Seconds},
		"12 other tags":                                           {Kind: broker.OtherTags, Amount: 12},
		"undefined":                                               {Kind: broker.ValueOf, Verdict: broker.IsUndefined},
		"X 5, Y not published":                                    {Kind: broker.PublishedValues, Values: []broker.Published{{Name: "X", Value: classad.IntValue(5), OK: true}, {Name: "Y"}}},
		"an error: too long":                                      {Kind: broker.Evaluation, Said: "too long"},
		"the formula gives no number":                             {Kind: broker.Unrankable, Said: "the formula gives no number"},
		"banned until 12:00:00Z: 3 failures in a row":             {Kind: broker.BannedUntil, Until: noon, Said: "3 failures in a row"},
		"pinned down":                                             {Kind: broker.PinnedDown},
		"nagios: load":                                            {Kind: broker.Alarmed, Name: "nagios", Said: "load"},
		"its last jobs ended well in less than a tenth of the usual time": {Kind: broker.EndedTooSoon},
		"2 of the first jobs failed there":                                {Kind: broker.FirstJobsFailed, Amount: 2},
		"it did not answer":                                               {Kind: broker.Mute},
		"input files from srm:":                                           {Kind: broker.FilesFrom, Name: "srm"},
		"output files to srm:":                                            {Kind: broker.FilesTo, Name: "srm"},
		"no catalogue for logical names: name the URL of a replica":       {Kind: broker.NoCatalogue},
		"fetches none from there":                                         {Kind: broker.FetchesNone},
		"sends none there":                                                {Kind: broker.SendsNone},
	}
	seen := map[broker.FactKind]bool{}
	for want, f := range texts {
		if got := f.String(); got != want {
			t.Errorf("kind %d: %q, want %q", f.Kind, got, want)
		}
		if text, err := f.MarshalText(); err != nil || string(text) != want {
			t.Errorf("%s: as JSON %q, %v", want, text, err)
		}
		seen[f.Kind] = true
		for other, g := range texts {
			if c := f.Compare(g); (c == 0) != (want == other) || c != -g.Compare(f) {
				t.Errorf("%q compared with %q: %d and %d", want, other, c, g.Compare(f))
			}
		}
	}
	for _, last := range [][2]broker.FactKind{{broker.Unspoken, broker.ExpressionHolding}, {broker.Name, broker.SendsNone}} {
		for k := last[0]; k <= last[1]; k++ {
			if !seen[k] {
				t.Errorf("kind %d has no text here", k)
			}
		}
	}
}
