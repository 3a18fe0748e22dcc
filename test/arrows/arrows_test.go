package arrows

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// layers is the plan of the house: for each package what it may import of ours.
// The first pattern that fits a package counts; "x/..." means x and all below.
// Only files that are built into the product count: a test may import more.
var layers = []layer{
	{"persistence", nil, "the contract knows nothing of agents, so that other people's stores can implement it"},
	{"persistence/...", paths("persistence"), "a store knows the contract and its engine, nothing of agents"},

	{"proto/...", nil, "generated code stands alone"},

	{"protocol/uimessage", nil, "a leaf of plain types, shared by the cores and the wire"},
	{"protocol/feed", paths("protocol/uimessage"), "a leaf of plain types, shared by the cores, actors and the wire"},
	{"protocol/...", paths("protocol/..."), "the wire knows agents only by the Host that it declares, so it can be read and tested alone"},

	{"toolruns/...", paths("toolruns/...", "proto/journal/...", "protocol/uimessage"), "a pure core decides; it does nothing itself"},
	{"actors/internal/chat/...", paths("actors/internal/chat/...", "toolruns", "proto/journal/...", "protocol/uimessage", "protocol/feed"), "a pure core decides; it does nothing itself"},

	{"actors/model", nil, "the seam knows no provider and no agent"},
	{"actors/model/internal/modelsuite", paths("actors/model", "test/providerwire"), "what the tests of all providers share"},
	{"actors/model/...", paths("actors/model/..."), "a provider knows the seam only"},

	{"actors", paths("actors/internal/...", "actors/model", "toolruns", "persistence", "proto/journal/...", "protocol/uimessage", "protocol/feed"), "the shell knows the store's contract and the shared leaves; sockets, stores and providers are the node's business"},
	{"actors/internal/...", paths("actors/internal/...", "actors/model", "toolruns", "persistence", "proto/journal/...", "protocol/uimessage", "protocol/feed"), "the inside of actors reaches no further than actors"},
	{"actors/actorstest/...", paths("actors/...", "persistence/...", "protocol/...", "toolruns"), "the harness for authors' tests starts whole nodes"},
	{"actors/node/...", paths("actors/...", "persistence/...", "protocol/...", "proto/...", "toolruns", "web"), "the node wires everything of one process; nothing that it wires knows it"},

	{"web", nil, "only the built page, embedded"},
	{"cmd/...", paths("cmd/...", "actors", "actors/node", "actors/model/...", "persistence/...", "proto/...", "protocol/...", "web"), "a program is flags and wiring"},

	{"examples/...", paths("examples/...", "actors", "actors/node", "actors/model/...", "actors/actorstest", "persistence/...", "protocol/..."), "an example is what an author could write"},
	{"test/testnode/...", paths("test/testnode/...", "actors", "actors/node", "actors/model/...", "persistence/...", "protocol/..."), "the test node is written against the public API, as an author would"},
	{"test/...", paths("test/..."), "tests here are black box: they see a binary and its sockets"},
}

// homes says where a library may be imported: one place to read, to replace and
// to work around its faults. Patterns are of files.
var homes = []home{
	{"github.com/asynkron/protoactor-go", paths(
		"actors/shell.go", "actors/slot.go", "actors/runtime.go", // the runtime starts and stops the actor system
		"actors/node/cluster.go", "actors/node/cluster_*.go",
	), "only the shell, the slot and the wiring of runtime and cluster know that agents are protoactor actors; its traps are worked around there"},
	{"go.etcd.io/bbolt", paths("persistence/bolt/*.go"), "the layout on disk must not leak out of its store"},
	{"github.com/jackc/pgx", paths("persistence/postgres/*.go", "actors/node/cluster*.go"), "the database belongs to its store and to membership"},
	{"charm.land/fantasy", paths("actors/model/*/*.go", "actors/model/internal/*/*.go"), "an author links only the providers that they import"},
	{"github.com/anthropics/anthropic-sdk-go", paths("actors/model/*/*.go", "actors/model/internal/*/*.go"), "an author links only the providers that they import"},
}

// cores are the packages that decide and do nothing else: same commands, same
// events, on every machine and in every replay.
var cores = paths("actors/internal/chat/...", "toolruns/...")

// outOfReach are the imports that no core may have, and the reason.
var outOfReach = map[string]string{
	"github.com/asynkron/protoactor-go": "a core is no actor; the shell is",
	"go.etcd.io/bbolt":                  "a core returns events; the shell stores them",
	"net":                               "a core does no I/O; it names effects as data",
	"net/http":                          "a core does no I/O; it names effects as data",
	"os":                                "a core does no I/O; it names effects as data",
	"math/rand":                         "random ids enter as fields of commands",
	"math/rand/v2":                      "random ids enter as fields of commands",
	"crypto/rand":                       "random ids enter as fields of commands",
}

// clock are the names of package time that look at the clock or start a timer.
var clock = map[string]bool{
	"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true,
	"Sleep": true, "Tick": true, "NewTimer": true, "NewTicker": true,
}

const (
	maxFileLines     = 400 // generated files do not count
	maxFunctionLines = 80  // from "func" to its closing brace
)

func TestArrowsPointOneWay(t *testing.T) {
	report(t, wrongImports(house(t)))
}

func TestEachLibraryHasItsHome(t *testing.T) {
	report(t, strayLibraries(house(t)))
}

func TestCoresDecideAndDoNothing(t *testing.T) {
	report(t, impureCores(house(t)))
}

func TestModuleRootHasNoGoFiles(t *testing.T) {
	report(t, rootFiles(house(t)))
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	report(t, oversize(house(t)))
}

func TestExportedNamesAreDocumented(t *testing.T) {
	report(t, undocumented(house(t)))
}

// module is read once for all tests, which only look at it.
var module = sync.OnceValues(func() (tree, error) { return read(os.DirFS("../..")) })

// house is the sources of the module that this package belongs to.
func house(t *testing.T) tree {
	t.Helper()
	got, err := module()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		t.Fatal("found no Go files two folders up: this package must lie in test/arrows of the module")
	}
	return got
}

func report(t *testing.T, findings []string) {
	t.Helper()
	if len(findings) > 0 {
		t.Errorf("%d findings:\n%s", len(findings), strings.Join(findings, "\n"))
	}
}

func paths(p ...string) []string { return p }
