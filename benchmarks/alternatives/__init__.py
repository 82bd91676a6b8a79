"""Planning the same question with pdd-plan and with what one would use instead."""
