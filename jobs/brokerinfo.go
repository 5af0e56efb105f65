package jobs

import (
	"gridbroker/glue"
	"gridbroker/plugins"
)

// brokerInfos makes the files .BrokerInfo of those jobs that read one, by the
// jobs' ids, for the resources that they are sent to.
func brokerInfos(os []*Outcome, choice map[string]Choice) map[string]string {
	infos := map[string]string{}
	var readers plugins.BrokerInfoReaders
	for _, o := range os {
		if o.job == nil || !readers.Wants(o.job) {
			continue
		}
		at := choice[o.ID].Resource
		r := &glue.Resource{ID: at}
		if ranked := o.ranked[at]; ranked != nil {
			r = ranked.Resource
		}
		infos[o.ID] = plugins.BrokerInfo(o.job, r)
	}
	return infos
}
