package chat

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// A Command asks for something. It may be refused, and it is never stored.
//
//sumtype:decl
type Command interface{ command() }

// Ids are fresh identifiers for what a command may bring into being.
type Ids struct {
	Request string // of a turn that no client has asked for
	Message string // of an assistant message
}

type (
	// Activate begins an incarnation. It is the first command of each that has work.
	Activate struct {
		Incarnation uint64
		Class, Name string
		Parent      string // path of the parent; "" for a root
		Node        string
		Now         int64
		Ids         Ids
	}

	// Rest says goodbye before a passivation or a planned stop.
	Rest struct{}

	// Submit asks for a turn. The same Request again changes nothing.
	Submit struct {
		Request     string
		Fingerprint []byte // if any, tells requests of one id apart
		// Messages is the client's whole list, or what is to be added to the
		// conversation if Append or Programmatic.
		Messages     []uimessage.Message
		Regenerate   bool
		Append       bool
		Programmatic bool // the author's program asks, and runs with the last client's context
		Deferred     bool // Prepare makes its messages
		Readonly     bool // who asks may not change the author's state
		Now          int64
		Body         json.RawMessage // nil: none
		ClientTools  json.RawMessage // nil: none
		Ids          Ids
	}

	// Cancel ends the turn of a request, running or queued.
	Cancel struct{ Request string }

	// Clear wipes the conversation. The same non-empty Key again changes nothing.
	Clear struct{ Key string }

	// SetMessages inserts or replaces messages by id.
	SetMessages struct{ Messages []uimessage.Message }

	// SetState replaces the author's state, if Swap only while it is Was.
	SetState struct {
		JSON json.RawMessage
		Swap bool
		Was  json.RawMessage // nil: never set
	}
	// Persist is SetMessages by the author, who may write in any role.
	Persist struct{ Messages []uimessage.Message }

	// OpenStream: the running attempt has something to say.
	OpenStream struct {
		Turn    uint64
		Attempt uint32
	}

	// Keep stores chunks that the open stream has let out (or holds back).
	Keep struct {
		Turn  uint64
		First uint64
		Runs  []*ChunkRun
		Count uint64
	}

	// Reserve asks for more positions of the open stream.
	Reserve struct {
		Turn    uint64
		Attempt uint32
	}

	// StepAnswered is the outcome of CallModel.
	StepAnswered struct {
		Turn    uint64
		Step    uint32
		Attempt uint32
		Content json.RawMessage // what the model said, as it will see it again
		Reason  string
		Usage   *Usage
		Model   string
		Last    bool               // no call of it is for the server to run: the loop ends
		Cleaned *uimessage.Message // of Last: the answer as the author's sanitizer leaves it; nil: it has not seen it
	}

	// StepErred is the other outcome of CallModel.
	StepErred struct {
		Turn       uint64
		Step       uint32
		Attempt    uint32
		Transient  bool
		Cause      string
		Compacts   bool   // the conversation did not fit, and can be compacted
		Public     string // fit for a visitor
		Text       string // for operators
		RetryAfter int64  // milliseconds; the provider's wish
		Now        int64
		Ids        Ids
		Cleaned    *uimessage.Message // as in StepAnswered
	}

	// HandlerEnded is the outcome of Handle.
	HandlerEnded struct {
		Turn    uint64
		Attempt uint32
		Result  HandlerResult
		Text    string             // for Failed and FailedInBand, fit for a visitor
		Reason  string             // finish reason, if the handler gave one
		Cleaned *uimessage.Message // as in StepAnswered
	}

	// Cleaned is the outcome of Clean.
	Cleaned struct {
		Clean   Clean
		Message uimessage.Message // the whole message, cleaned
		Failed  bool              // the sanitizer has; the message stays as it is
	}

	// Delivered and DeliveryErred are the outcomes of Deliver.
	Delivered     struct{ ID uint64 }
	DeliveryErred struct {
		ID      uint64
		Attempt uint32
		Text    string
		Now     int64
	}

	// RegisterSub makes a sub-agent known. One that is registered stays as it is.
	RegisterSub struct {
		Class, Name string
		Now         int64
	}

	// RemoveSub has a sub-agent deleted for good; one that is not registered is no error.
	RemoveSub struct{ Class, Name string }

	// SubRemoved is the outcome of DeleteSub. The zero value says that it did not end.
	SubRemoved struct {
		Class, Name string
		CreatedMS   int64
	}

	// Delete deletes the agent for good. One that does not exist stays so.
	Delete struct {
		Reason   string
		IfUnused bool // only if nothing is under way and nobody is awaited
	}

	// Erased is the outcome of Erase: nothing is left of the agent. Otherwise it is
	// not known what is.
	Erased struct{ Gone bool }

	// TimerFired: the time of a wait has come.
	TimerFired struct {
		Key string
		Now int64
	}
)

// HandlerResult tells how an author's handler ended.
type HandlerResult int

const (
	Answered     HandlerResult = iota // it has written an answer
	Empty                             // it says that there is no answer to give
	Silent                            // it has written nothing and said nothing
	Failed                            // it returned an error
	FailedInBand                      // it wrote an error chunk
	CutShort                          // it wrote an abort chunk
)

func (Activate) command()      {}
func (Rest) command()          {}
func (Submit) command()        {}
func (Cancel) command()        {}
func (Clear) command()         {}
func (SetMessages) command()   {}
func (SetState) command()      {}
func (Persist) command()       {}
func (Cleaned) command()       {}
func (OpenStream) command()    {}
func (Keep) command()          {}
func (Reserve) command()       {}
func (StepAnswered) command()  {}
func (StepErred) command()     {}
func (HandlerEnded) command()  {}
func (Delivered) command()     {}
func (DeliveryErred) command() {}
func (RegisterSub) command()   {}
func (RemoveSub) command()     {}
func (SubRemoved) command()    {}
func (Delete) command()        {}
func (Erased) command()        {}
func (TimerFired) command()    {}
