"""What happens between a user's intent and a view model: starting jobs, taking their answers, keeping them current."""
