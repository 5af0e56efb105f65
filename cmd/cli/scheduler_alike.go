package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"gridbroker/forecast/scheduler"
)

// alike are digests of what all replicas of one database must be told alike, by the names of the settings. In which order
// things stand in a file is no difference.
func (c *schedulerConfig) alike() map[string]string {
	clusters := slices.Clone(c.Clusters)
	for i := range clusters {
		clusters[i].Agents = slices.Sorted(slices.Values(clusters[i].Agents))
	}
	slices.SortFunc(clusters, func(a, b clusterConfig) int { return cmp.Compare(a.Name, b.Name) })
	tokens := slices.Clone(c.Tokens)
	slices.SortFunc(tokens, func(a, b scheduler.TokenUser) int { return cmp.Compare(a.SHA256, b.SHA256) })
	of := map[string]string{}
	for name, value := range map[string]any{
		"cluster": clusters, "token": tokens, "admins": slices.Sorted(slices.Values(c.Admins)), "issuers": slices.Sorted(slices.Values(c.Issuers)),
		"issuer_vos": c.IssuerVOs, "audience": c.Audience, "budget": c.Budget, "free": c.Free, "planner": c.Planner, "max_bypass": c.MaxBypass,
		"sure": c.Sure, "patience": c.Patience.String(), "grace": c.Grace.String(), "horizon": c.Horizon.String(), "token_grace": c.TokenGrace.String(),
		"keep_at_sites": c.KeepAtSites.String(),
	} {
		text, err := json.Marshal(value)
		if err != nil { // a number that TOML has and JSON does not, as inf: check refuses it
			text = fmt.Append(nil, value)
		}
		of[name] = fmt.Sprintf("%x", sha256.Sum256(text))[:16]
	}
	return of
}
