package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// budgetLine is one account.
type budgetLine struct {
	User  string  `json:"user"`
	Given float64 `json:"given"`
	Left  float64 `json:"left"`
	Used  float64 `json:"used"`
}

func budgetCmd(d *deps) *cobra.Command {
	var to, user string
	var grant float64
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "What you may still spend at a central scheduler",
		Long: `Budget shows your account at the scheduler. A booking costs the job's priority
times its processor-hours; what was booked and not used is given back. An
administrator sees all accounts, and sets one with --user and --set.`,
		Example: `  grid budget --via grid://scheduler.example.org:6120`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("set") {
				return runGrant(cmd.Context(), d, to, user, grant)
			}
			return runBudget(cmd.Context(), d, to, user)
		},
	}
	cmd.Flags().StringVar(&to, "via", "", "`URL` of the scheduler (default: scheduler of the configuration file)")
	cmd.Flags().StringVar(&user, "user", "", "whose account alone is shown, or changed by --set: a `subject`")
	cmd.Flags().Float64Var(&grant, "set", 0, "the `budget` in all, in processor-hours at priority 1")
	return cmd
}

// mostBudget is the largest that a scheduler takes, in processor-hours.
const mostBudget = 1e12

func runGrant(ctx context.Context, d *deps, to, user string, budget float64) error {
	if user == "" {
		return usageError(fmt.Errorf("--set %v: say whose with --user", budget))
	}
	if !(budget >= 0 && budget <= mostBudget) {
		return usageError(fmt.Errorf("--set %v: a budget is a number of processor-hours from 0 to %.0f", budget, mostBudget))
	}
	before, err := toldBudgets(ctx, d, to, user)
	if err != nil {
		return err
	}
	if err := callScheduler(ctx, d, to, "grant", "PUT", "/v1/budgets", map[string]any{"user": user, "budget": budget}, nil); err != nil {
		return err
	}
	if len(before.Budgets) == 0 {
		sayErr(d, "%s had no account there, and has one now: nobody of exactly that name has submitted a job yet", user)
	}
	return runBudget(ctx, d, to, user)
}

// toldBudgets asks for the accounts that the scheduler tells of, or of these for that of one user.
func toldBudgets(ctx context.Context, d *deps, to, user string) (out budgetDocument, err error) {
	err = callScheduler(ctx, d, to, "budget", "GET", "/v1/budget", nil, &out)
	out.Budgets = slices.DeleteFunc(out.Budgets, func(b budgetLine) bool { return user != "" && b.User != user })
	return out, err
}

// runBudget shows the accounts that the scheduler tells of, or of these that of one user.
func runBudget(ctx context.Context, d *deps, to, user string) error {
	out, err := toldBudgets(ctx, d, to, user)
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "budget", out)
	}
	if len(out.Budgets) == 0 {
		sayErr(d, "%s", noAccount(user))
		return nil
	}
	var rows [][]string
	for _, b := range out.Budgets {
		rows = append(rows, []string{b.User, fmt.Sprintf("%.2f", b.Given), fmt.Sprintf("%.2f", b.Used), fmt.Sprintf("%.2f", b.Left)})
	}
	return table(d, columns("USER", ">GIVEN", ">USED", ">LEFT"), rows)
}

// noAccount says what it means that no account is told.
func noAccount(user string) string {
	if user != "" {
		return fmt.Sprintf("no account of %s is told to you: there is none yet, or you are no administrator", user)
	}
	return "no account yet: it is made with your first job there, or when an administrator gives you something"
}
