package jobs_test

import (
	"gridbroker/broker/brokertest"
	"gridbroker/jobs"
)

var (
	start  = brokertest.Start
	stored = brokertest.ParseJob
	site   = brokertest.Site
	plan   = brokertest.Plan
)

func newController(edit ...func(*jobs.Controller)) *jobs.Controller {
	c := &jobs.Controller{Broker: brokertest.New()}
	for _, f := range edit {
		f(c)
	}
	return c
}
