package arcrest

import (
	"strings"

	"gridbroker/jdl/adl"
	"gridbroker/plugins"
)

// nameSeparator stands between our id and the job's name in the name that the
// CE gets, by which Find recognises the job.
const nameSeparator = " "

// restarts is how often a job may be restarted: as often as A-REX takes by default
// (maxrerun). It does nothing by itself.
const restarts = 5

// ourID is the id in a name at the CE.
func ourID(name string) string {
	id, _, _ := strings.Cut(strings.TrimSpace(name), nameSeparator)
	return id
}

// describe writes the job as ADL. The delegation is named in it: REST 1.0
// knows no parameter for it, and ignores one without a word.
func describe(req *plugins.Request, delegation string) ([]byte, error) {
	o := adl.Options{Name: req.ID + nameSeparator + req.Job.Name, DelegationID: delegation, Restarts: restarts}
	if req.Resource != nil {
		o.Queue = req.Resource.Queue
	}
	return adl.Write(req.Job, o)
}
