package node

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

type deleteCommand struct {
	Data  string `help:"Folder of the journal." default:"data" type:"path"`
	Yes   bool   `help:"Do not ask." short:"y"`
	Agent string `arg:"" help:"Agent as Class/name, or as dump shows it if it is a sub-agent."`
}

func (c *deleteCommand) Run(p *program) error {
	store, err := openExisting(c.Data)
	if err != nil {
		return err
	}
	defer store.Close()
	doomed, err := familyOf(p, store, c.Agent)
	if err != nil {
		return err
	}
	a, ok := feed.ParsePath(c.Agent)
	if !ok || len(doomed) == 0 {
		return nobody(c.Agent)
	}
	if !c.Yes && !confirmed(p, doomed) {
		fmt.Fprintln(p.out)
		return errors.New("nothing was deleted")
	}
	if err := actors.Erase(p.ctx, store, a); err != nil {
		return fmt.Errorf("%s could not be deleted; trying again is safe: %w", c.Agent, err)
	}
	for _, i := range doomed {
		fmt.Fprintln(p.out, "deleted", i.Stream)
	}
	return nil
}

// familyOf returns what is stored of an agent and of all below it.
func familyOf(p *program, store persistence.Store, agent string) (family []persistence.Info, err error) {
	self, _, err := store.Find(p.ctx, agent, persistence.Batch{})
	if err != nil {
		return nil, err
	}
	if self.Head > 0 && !self.Deleted {
		family = append(family, self)
	}
	err = eachStream(p.ctx, store, feed.Below(agent), func(i persistence.Info) error {
		if !i.Deleted {
			family = append(family, i)
		}
		return nil
	})
	return family, err
}

// confirmed shows what would be deleted, and asks. Only yes is yes.
func confirmed(p *program, doomed []persistence.Info) bool {
	for _, i := range doomed {
		fmt.Fprintln(p.out, summary(i))
	}
	which := "this agent"
	if len(doomed) > 1 {
		which = fmt.Sprintf("these %d agents", len(doomed))
	}
	fmt.Fprintf(p.out, "Delete %s for good? [y/N] ", which)
	said := make(chan string, 1)
	go func() { // a read of a terminal cannot be interrupted
		lines := bufio.NewScanner(p.in)
		lines.Scan()
		said <- strings.ToLower(strings.TrimSpace(lines.Text()))
	}()
	select {
	case answer := <-said:
		return answer == "y" || answer == "yes"
	case <-p.ctx.Done():
		return false
	}
}
