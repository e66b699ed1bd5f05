"""Sentences with "no longer", "stopped", "quit", "left" or a number end what they speak of, and nothing beside it.

Each pair is what was said of somebody before, and what is said of them now.
"""

import pytest

from worlddb.query.claims import claim_relation
from worlddb.query.claims.claim_frame import frame, words_of

ENDS = (
    ("I work at Siemens", "I'm not fond of small talk, but I work at Bosch now"),
    ("I drive a Fiat", "I never liked cars much, but I drive a Volvo now"),
    ("Ana takes bus 7 to work", "Ana takes bus 9 to work"),
    ("Ana lives with Tom", "Ana moved in with Rosa"),
    ("Ana plays tennis on Mondays.", "Ana no longer plays tennis."),
    ("Ben smokes.", "Ben quit smoking in March."),
    ("Dan takes ibuprofen for his back.", "Dan stopped taking ibuprofen."),
    ("Eva is vegetarian.", "Eva is no longer vegetarian."),
    ("Finn drives a Volvo.", "Finn used to drive a Volvo, now he drives a Tesla."),
    ("Gita goes to the gym every day.", "Gita no longer goes to the gym."),
    ("Hugo studies law in Vienna.", "Hugo quit studying law."),
    ("Ines lives with her parents.", "Ines no longer lives with her parents."),
    ("Jan's rent is 900 euros.", "Jan's rent is 950 euros."),
    ("Kira volunteers at the shelter.", "Kira has stopped volunteering at the shelter."),
    ("Leo is dating Marta.", "Leo and Marta broke up."),
    ("Mona drinks coffee.", "Mona doesn't drink coffee any more."),
    ("Nils is the captain of the rowing team.", "Nils is no longer captain of the rowing team."),
    ("Olga weighs 64 kilos.", "Olga weighs 61 kilos now."),
    ("Pete sings in the church choir.", "Pete left the church choir."),
    ("Quinn uses Slack for work.", "Quinn stopped using Slack."),
    ("Rosa has a cat.", "Rosa no longer has a cat."),
    ("Sam subscribes to Spotify.", "Sam cancelled his Spotify subscription."),
    ("Tara lives in Leeds.", "Tara left Leeds and lives in York now."),
    ("Uma teaches yoga.", "Uma gave up teaching yoga."),
    ("Vera is allergic to nuts.", "Vera is no longer allergic to nuts."),
    ("Will's desk is on floor 3.", "Will's desk is on floor 5."),
    ("Xavi coaches the junior team.", "Xavi no longer coaches the junior team."),
    ("Yara is learning Japanese.", "Yara quit learning Japanese."),
    ("Zoe commutes by train.", "Zoe no longer commutes by train, she cycles."),
    ("Aldo eats meat.", "Aldo stopped eating meat."),
    ("Bea's password is tulip.", "Bea's password is now orchid."),
    ("Cem owns a motorbike.", "Cem sold his motorbike."),
    ("Dora works part time.", "Dora no longer works part time."),
    ("Emil is a member of the chess club.", "Emil left the chess club."),
    ("Fay has 3 employees.", "Fay has 5 employees now."),
    ("Hana works nights.", "Hana stopped working nights."),
    ("Ivo has two dogs.", "Ivo has three dogs now."),
    ("Jo talks to her brother.", "Jo no longer talks to her brother."),
    ("Kai plays in a band.", "Kai quit the band."),
    ("Lia is married to Tom.", "Lia is no longer married to Tom."),
    ("Mara lives in Porto.", "Mara moved to Braga."),
    ("Ned runs every morning.", "Ned stopped running."),
    ("Otto has a subscription to the opera.", "Otto no longer has a subscription to the opera."),
    ("Pia hates sushi.", "Pia no longer hates sushi."),
    ("Rob works from home.", "Rob no longer works from home."),
    ("Sia's team has 8 people.", "Sia's team has 9 people."),
    ("Tim's phone number is 5551234.", "Tim's phone number is 5559876."),
    ("Ute takes the bus to work.", "Ute no longer takes the bus to work."),
    ("Vic is on a diet.", "Vic gave up his diet."),
    ("Wes works at Siemens.", "Wes quit Siemens."),
    ("Ana works on the payments project.", "Ana no longer works on the payments project."),
    ("Ben lives alone.", "Ben no longer lives alone."),
    ("Cleo has two children.", "Cleo has 3 children now."),
    ("Dan drinks coffee.", "Dan stopped drinking coffee."),
    ("Eve runs marathons.", "Eve no longer runs marathons."),
    ("Finn plays in the orchestra.", "Finn no longer plays in the orchestra."),
    ("Hal is married to Ruth.", "Hal is no longer married to Ruth."),
    ("Ida smokes.", "Ida stopped smoking when she started at Google."),
    ("Kim drives to work.", "Kim no longer drives to work."),
    ("Mia is a nurse at St Mary's.", "Mia is no longer a nurse."),
    ("Omar uses Python.", "Omar no longer uses Python."),
    ("Ray speaks German at home.", "Ray no longer speaks German at home."),
    ("Ted's salary is 50000 euros.", "Ted's salary is 55000 euros."),
    ("Walt takes insulin.", "Walt no longer takes insulin."),
    ("Cy is afraid of needles.", "Cy is no longer afraid of needles."),
    ("Sue uses Gmail.", "Sue quit Gmail."),
    ("Val is the CEO of Orbit.", "Val stopped being the CEO of Orbit."),
    ("Wes eats fish.", "Wes no longer eats fish."),
    ("Yan's team uses Jira.", "Yan's team no longer uses Jira."),
    ("Abe earns 3000 euros.", "Abe earns 4000 euros now."),
    ("Bo's house has 5 rooms.", "Bo's house has 6 rooms now."),
    ("Lou plays chess with Max.", "Lou stopped playing chess with Max."),
    ("Nat works at the bank.", "Nat no longer works at the bank."),
    ("Jon takes vitamin D.", "Jon doesn't take vitamin D anymore."),
    ("Amir sells insurance.", "Amir no longer sells insurance."),
    ("Bella lives with Greg.", "Bella stopped living with Greg in May."),
    ("Cora is on antibiotics.", "Cora is no longer on antibiotics."),
    ("Dirk plays bridge with his uncle.", "Dirk doesn't play bridge with his uncle anymore."),
    ("Elsa keeps bees.", "Elsa stopped keeping bees."),
    ("Femi's office is in Lagos.", "Femi's office is in Abuja now."),
    ("Gwen is the treasurer of the club.", "Gwen is no longer the treasurer."),
    ("Hiro eats gluten.", "Hiro no longer eats gluten, on his doctor's advice."),
    ("Isla drives a taxi.", "Isla quit driving a taxi."),
    ("Jens' salary is 4000 euros.", "Jens' salary is 4200 euros."),
    ("Kofi reads the Times.", "Kofi no longer reads the Times because it is too dear."),
    ("Lena is afraid of dogs.", "Lena is not afraid of dogs any more."),
)
"""What no longer holds: the later statement takes its place."""
HOLDS = (
    ("I live in Kiel", "I'm not fond of the weather, but I cook a lot now"),
    ("Ana keeps jar 3 in the cellar", "Ana keeps jar 4 in the attic"),
    ("Ana waters plant 7 on Mondays", "Ana waters plant 9 on Tuesdays"),
    ("Ana moved to Ghent", "Ana moved in with Tom"),
    ("Ana lives in Ghent", "Ana moved in with her sister"),
    ("Ana's rent is 650 euros", "Ana's rent should be 700 euros"),
    ("Ana pays 40 euros", "Ana could pay 50 euros next year"),
    ("Ana plays tennis on Mondays.", "Ana no longer plays squash."),
    ("Ben smokes.", "Ben quit his job in March."),
    ("Carla works at Nokia.", "Carla left her keys at the office."),
    ("Dan takes ibuprofen for his back.", "Dan stopped at the pharmacy on the way home."),
    ("Eva is vegetarian.", "Eva no longer lives in Graz."),
    ("Finn drives a Volvo.", "Finn used to drive a taxi in Malmö."),
    ("Gita goes to the gym every day.", "Gita no longer goes to the cinema."),
    ("Hugo studies law in Vienna.", "Hugo quit the rowing club."),
    ("Ines lives with her parents.", "Ines no longer shares a room with her sister."),
    ("Jan's rent is 900 euros.", "Jan's rent was 850 euros in 2019."),
    ("Kira volunteers at the shelter.", "Kira stopped at the shelter to drop off blankets."),
    ("Leo is dating Marta.", "Leo broke up a fight at Marta's party."),
    ("Mona drinks coffee.", "Mona doesn't drink wine any more."),
    ("Nils is the captain of the rowing team.", "Nils is no longer the treasurer of the tennis club."),
    ("Olga weighs 64 kilos.", "Olga's suitcase weighs 23 kilos."),
    ("Pete sings in the church choir.", "Pete left the choir practice early on Tuesday."),
    ("Quinn uses Slack for work.", "Quinn stopped using Facebook."),
    ("Rosa has a cat.", "Rosa no longer has a fever."),
    ("Sam subscribes to Spotify.", "Sam cancelled his dentist appointment."),
    ("Tara lives in Leeds.", "Tara left Leeds for a weekend in York."),
    ("Uma teaches yoga.", "Uma gave up smoking years ago."),
    ("Vera is allergic to nuts.", "Vera is no longer allergic to pollen."),
    ("Will's desk is on floor 3.", "Will used to work on floor 5."),
    ("Xavi coaches the junior team.", "Xavi no longer coaches the girls' team."),
    ("Yara is learning Japanese.", "Yara quit learning the piano."),
    ("Zoe commutes by train.", "Zoe no longer flies to meetings."),
    ("Aldo eats meat.", "Aldo stopped eating sweets."),
    ("Bea's password is tulip.", "Bea used to have a password with digits."),
    ("Cem owns a motorbike.", "Cem sold his old laptop."),
    ("Dora works part time.", "Dora no longer works on Fridays."),
    ("Emil is a member of the chess club.", "Emil left the meeting of the chess club at nine."),
    ("Fay has 3 employees.", "Fay has 2 children."),
    ("Gus lives in Berlin.", "Gus used to live in Hamburg."),
    ("Hana works at the hospital.", "Hana stopped working nights."),
    ("Ivo has two dogs.", "Ivo left his dogs with a neighbour for the week."),
    ("Jo speaks Polish.", "Jo no longer speaks with her brother."),
    ("Kai plays the guitar.", "Kai quit the band."),
    ("Lia is married to Tom.", "Lia no longer wears her wedding ring at work."),
    ("Mara lives in Porto.", "Mara left Porto at 6 this morning for a meeting in Braga."),
    ("Ned runs every morning.", "Ned stopped for water at kilometre 12."),
    ("Otto has a subscription to the opera.", "Otto no longer has time on Thursdays."),
    ("Pia likes sushi.", "Pia used to hate sushi."),
    ("Rob works from home.", "Rob's internet stopped working yesterday."),
    ("Sia's team has 8 people.", "Sia's office has 40 desks."),
    ("Tim's phone number is 5551234.", "Tim's flight number is 402."),
    ("Ute takes the bus to work.", "Ute quit arguing with her boss."),
    ("Vic is on a diet.", "Vic left the cake on the table."),
    ("Wes works at Siemens.", "Wes used to work at Bosch."),
    ("Ana works at Acme.", "Ana no longer works late."),
    ("Ana works at Acme.", "Ana no longer works on the payments project."),
    ("Ben lives in Lisbon.", "Ben no longer lives alone."),
    ("Cleo has two children.", "Cleo has 3 cars."),
    ("Dan drinks coffee.", "Dan stopped drinking coffee after 6 pm."),
    ("Eve runs a bakery.", "Eve no longer runs marathons."),
    ("Finn plays the piano.", "Finn no longer plays in the orchestra."),
    ("Hal is married.", "Hal used to be married to Ruth."),
    ("Ida works at Google.", "Ida quit smoking when she started working at Google."),
    ("Kim drives to work.", "Kim no longer drives at night."),
    ("Lou takes the train to work.", "Lou left work at 5."),
    ("Mia is a nurse at St Mary's.", "Mia used to be a nurse at St Luke's."),
    ("Nat has a dog called Rex.", "Nat's dog no longer barks."),
    ("Omar uses Python.", "Omar no longer uses Python 2."),
    ("Pam reads novels.", "Pam stopped reading the novel at page 90."),
    ("Ray speaks German.", "Ray no longer speaks German at home."),
    ("Ted's salary is 50000 euros.", "Ted's bonus is 5000 euros."),
    ("Walt takes insulin.", "Walt no longer forgets to take his insulin."),
    ("Cy is allergic to penicillin.", "Cy is no longer afraid of needles."),
    ("Kim smokes.", "Kim never stopped smoking."),
    ("Ana plays tennis.", "Ana hasn't stopped playing tennis."),
    ("Ana works at Nokia.", "Ana did not leave Nokia."),
    ("Ben smokes.", "Ben is thinking of quitting smoking."),
    ("Ben smokes.", "Ben said he would stop smoking."),
    ("Cleo works at Nokia.", "Cleo almost quit Nokia last year."),
    ("Dan lives in Lisbon.", "Dan's brother no longer lives in Lisbon."),
    ("Eve gets up at 5.", "Eve is used to getting up at 5."),
    ("Fay lives in Oslo.", "Fay is used to living in Oslo by now."),
    ("Gus likes spicy food.", "Gus got used to spicy food."),
    ("Ida writes with her right hand.", "Ida broke her left hand."),
    ("Jon takes vitamin D.", "Jon no longer needs to be reminded of his vitamin D."),
    ("Kim visits her mother on Sundays.", "Kim left her umbrella at her mother's."),
    ("Lou plays chess with Max.", "Lou stopped playing chess with Max at midnight."),
    ("Mia lives in Paris.", "Mia stopped in Paris on her way to Nice."),
    ("Nat works at the bank.", "Nat stopped at the bank to pay a bill."),
    ("Omar is on the board.", "Omar quit the meeting of the board in anger."),
    ("Pam drives a Fiat.", "Pam's Fiat stopped on the motorway."),
    ("Ray goes to the gym.", "Ray no longer goes to the gym by car."),
    ("Sue uses Gmail.", "Sue no longer uses her second Gmail account."),
    ("Ted takes two pills a day.", "Ted left two pills on the table."),
    ("Val is the CEO of Orbit.", "Val used to be the CTO of Orbit."),
    ("Wes eats fish.", "Wes no longer eats fish on Fridays."),
    ("Yan's team uses Jira.", "Yan's old team no longer uses Jira."),
    ("Abe earns 4000 euros.", "Abe earned 3000 euros in 2018."),
    ("Bo's house has 5 rooms.", "Bo's first house had 3 rooms."),
    ("Cy weighs 80 kilos.", "Cy wants to weigh 75 kilos."),
    ("Amir sells insurance.", "Amir no longer sells door to door."),
    ("Bella lives with Greg.", "Bella stopped at the bakery with Greg."),
    ("Cora is on antibiotics.", "Cora is no longer in hospital."),
    ("Dirk plays bridge with his uncle.", "Dirk stopped playing bridge for money."),
    ("Femi's office is in Lagos.", "Femi left the office at noon."),
    ("Gwen is the treasurer of the club.", "Gwen never quit the club."),
    ("Hiro eats gluten.", "Hiro no longer eats after eight."),
    ("Isla drives a taxi.", "Isla stopped the taxi in front of the station."),
    ("Jens' salary is 4000 euros.", "Jens' bonus is 600 euros."),
    ("Kofi reads the Times.", "Kofi no longer reads the sports pages of the Times."),
    ("Lena is afraid of dogs.", "Lena's sister is no longer afraid of dogs."),
)
"""What goes on: the later statement tells of something else, of a part, or of another time."""


BOTH = (
    ("Ana is in the choir.", "Ana is in the chess club."),
    ("Ana is in a band.", "Ana is in a book club."),
    ("Ana is in the union.", "Ana is in Mensa."),
    ("Ana is on antibiotics.", "Ana is on a diet."),
    ("Ana works at Globex.", "Ana works at the Berlin office."),
    ("Ana works for Globex.", "Ana works at the front desk."),
    ("Ana works in Sales.", "Ana works in Porto."),
)


def related(earlier: str, later: str) -> claim_relation.ClaimComparison | None:
    subject = words_of(earlier.split(maxsplit=1)[0].removesuffix("'s"))
    one, other = frame(earlier, subject), frame(later, subject)
    assert one is not None and other is not None
    return claim_relation.relate(one, other)


@pytest.mark.parametrize(("earlier", "later"), ENDS)
def test_what_is_ended_competes_with_what_ends_it(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is not None and found.relation in claim_relation.COMPETING


@pytest.mark.parametrize(("earlier", "later"), [*HOLDS, *BOTH])
def test_a_word_for_an_end_does_not_end_what_it_is_not_said_of(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is None or found.relation not in claim_relation.COMPETING


ENDS_NOTHING = (
    ("Ana works on Mondays.", "Ana works on Fridays."),
    ("Ana is in the office on Tuesdays.", "Ana is in the office on Thursdays."),
    ("Ana lives in Lisbon.", "Ana lives in Porto from April to June."),
    ("Ana lives in Lisbon.", "Ana lives in Porto next year."),
    ("Ana lives in Lisbon.", "Ana moved to Porto for the summer."),
    ("Ana lives in Lisbon.", "Ana moved from Porto."),
    ("Ana lives in Lisbon.", "Ana nearly moved to Porto."),
    ("Ana lives in Lisbon.", "Ana lives in Porto or Faro."),
    ("Ana lives in Lisbon.", "Ana lives in Portugal."),
    ("Ana lives in Lisbon.", "Ana may live in Porto."),
    ("Ana is in Berlin this week.", "Ana is in Hamburg next week."),
    ("Ana is on antibiotics.", "Ana is on a diet."),
    ("Ana is in debt.", "Ana is in therapy."),
    ("Ana is on Instagram.", "Ana is on LinkedIn."),
    ("Ana is in Sales.", "Ana is in Marketing."),
    ("Ana is in Sales.", "Ana is in Porto."),
    ("Ana is in Berlin.", "Ana is in Hamburg."),
    ("Ana is in Rotary.", "Ana is in Mensa."),
    ("Ana is in the choir.", "Ana is in the chess club."),
    ("Ana is in the union.", "Ana is in Mensa."),
    ("Ana works at Globex.", "Ana works at the Berlin office."),
    ("Ana works at the Berlin office.", "Ana works at Globex."),
    ("Ana works at Globex.", "Ana now works at the Berlin office."),
    ("Ana works for Globex.", "Ana works at the front desk."),
    ("Ana works in Sales.", "Ana works in Porto."),
    ("Ana leads the search team.", "Ana leads the choir."),
    ("Ana is the owner of the bakery.", "Ana is the owner of the cinema."),
    ("Ana's office is on the 3rd floor.", "Ana's office is in Porto."),
    ("Ana is in room 4 at 10:00.", "Ana is in room 7 at 15:00."),
    ("Ana works as a nurse.", "Ana works as a volunteer."),
    ("Ana is working on the ranker.", "Ana is working on the index."),
)
"""Told as near, and in doubt nothing is ended."""
ENDS_THE_OTHER = (
    ("Ana lives in Lisbon.", "Ana moved to Porto this week."),
    ("Ana lives in Lisbon.", "Ana moved from Lisbon to Porto."),
    ("Ana lives in Lisbon.", "Ana lives in Porto."),
    ("Ana works as a nurse.", "Ana works as a teacher."),
    ("Ana is in Berlin.", "Ana is now in Hamburg."),
    ("Ana works in Sales.", "Ana works in Marketing."),
    ("Ana works at the Berlin office.", "Ana works at the Munich office."),
    ("Ana works at Globex.", "Ana works at Initech."),
    ("The server is in Frankfurt.", "The server is in Dublin."),
    ("Ana's office is in Lagos.", "Ana's office is in Abuja."),
    ("Ana's rent is 900 euros for a month.", "Ana's rent is 950 euros for a month."),
    ("Ana's yoga class is on 3 May.", "Ana's yoga class is on 5 May."),
)


@pytest.mark.parametrize(("earlier", "later"), [*ENDS_NOTHING, *ENDS_THE_OTHER])
def test_what_may_hold_beside_the_other_ends_nothing(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is not None and found.is_single_valued == ((earlier, later) in ENDS_THE_OTHER)


GUESSED = (
    ("I have 1250 followers on Instagram.", "I think I'm close to 1300 followers on Instagram now."),
    ("I have 1250 followers now.", "I've been meaning to check my follower count - I think I'm close to 1300 now."),
    ("I've saved 2,000 euros for the trip.", "I suppose I've saved about 2,400 euros for the trip by now."),
    ("My commute takes 40 minutes.", "I guess my commute takes 55 minutes."),
    ("Our team has 8 members.", "I believe that our team has 9 members."),
    ("Ben's phone bill is 30 euros a month.", "Ben thinks his phone bill is 35 euros a month."),
    ("My sourdough starter is 3 weeks old.", "My sourdough starter is maybe 5 weeks old."),
)
NOT_OF_NOW = (
    ("The rent is 900 euros.", "I think the rent could rise to 1000 euros."),
    ("I have 1250 followers.", "I hope to reach 1300 followers."),
    ("I have 1250 followers.", "If I had 1300 followers I would celebrate."),
    ("I run 20 km a week.", "I might run 30 km a week in spring."),
    ("My commute takes 40 minutes.", "Ben says my commute takes 20 minutes by bike."),
    ("Our team has 8 members.", "I think Ben's team has 9 members."),
    ("Our team has 8 members.", "I think our team should have 9 members."),
    ("I have 3 dogs.", "I'm thinking about getting 4 dogs."),
    ("I have 1250 followers.", "My word count is 1300."),
    ("I own 23 cameras.", "I think I own 4 tripods."),
)


@pytest.mark.parametrize(("earlier", "later"), [*GUESSED, *NOT_OF_NOW])
def test_a_number_that_is_guessed_competes_and_ends_nothing(earlier: str, later: str) -> None:
    """What somebody thinks to be so now was told as no fact, so that the old number came first without a word."""
    found = related(earlier, later)
    assert (found is not None and found.relation in claim_relation.COMPETING) == ((earlier, later) in GUESSED)
    assert found is None or not found.is_single_valued


DEPARTED = (
    ("Ana works at Globex.", "Ana has left Globex."),
    ("Ana works at Globex.", "Ana left Globex for good."),
    ("Ana works at Globex.", "Ana left Globex for Initech."),
    ("I work at Globex.", "I've left Globex."),
    ("Ana works at Globex.", "Ana has left her job."),
    ("Ana works at Globex.", "Ana was fired from Globex last week."),
    ("Ana is a nurse.", "Ana has retired."),
    ("Ana works at Globex.", "Ana is unemployed."),
    ("Ana works at Globex.", "Ana resigned."),
    ("Ana works at Globex.", "Ana has quit her job at Globex."),
    ("Ana works at Globex.", "Ana quit Globex two weeks ago."),
    ("Ana works at Globex.", "Ana lost her job."),
    ("Ana works at Globex.", "Ana resigned from Globex."),
    ("Ana works for Globex as a cook.", "Ana gave up her job as a cook."),
    ("Ana is a teacher.", "Ana retired from teaching."),
    ("I work at Globex.", "I just quit my job."),
)
MAY_BE_GONE = (
    ("Ana works at Globex.", "Ana quit."),
    ("I work at Globex.", "I quit yesterday."),
    ("Ana works at Globex.", "Ana gave up her job as a cook."),
    ("Ana works at Globex.", "Ana joined Initech."),
    ("Ana lives in Lisbon.", "Ana left Lisbon."),
    ("Ana lives in Lisbon.", "Ana left Lisbon for Porto."),
)
STILL_THERE = (
    ("Ana works at Globex.", "Ana left Globex at six."),
    ("Ana works at Globex.", "Ana left Globex for lunch."),
    ("Ana works at Globex.", "Ana left Lisbon."),
    ("Ana works at Globex.", "Ana almost left Globex."),
    ("Ana works at Globex.", "Ana might have left Globex."),
    ("Ana works at Globex.", "Ana joined a choir."),
    ("Ana works at Globex.", "Ana joined the gym."),
    ("Ana works at Globex.", "Ana was fired from Initech."),
    ("Ana works at Globex.", "Ana retired to bed."),
    ("Ana works at Globex.", "Ana's brother left Globex."),
    ("Ana works with Tom.", "Ana left Tom."),
    ("Ana works with Tom.", "Ana quit her job."),
    ("Ana works on a novel.", "Ana quit her job."),
    ("Ana works out at the gym.", "Ana quit."),
    ("Ana works at Globex.", "Ana quit her job at Initech."),
    ("Ana works as a nurse.", "Ana gave up her job as a cook."),
    ("Ana works at Globex.", "Ana lost."),
    ("Ana works at Globex.", "Ana quit for a week."),
    ("Ana works at Globex.", "Ana retired from tennis."),
    ("Ana works at Globex.", "Ana resigned from the board of the choir."),
    ("Ana plays in a band.", "Ana quit."),
    ("Ana is a student.", "Ana is unemployed."),
    ("Ana lives in Lisbon.", "Ana left Lisbon this morning."),
    ("Ana lives in Lisbon.", "Ana left for Lisbon."),
    ("Ana lives in Lisbon.", "Ana left Globex."),
)


@pytest.mark.parametrize(("earlier", "later"), [*DEPARTED, *MAY_BE_GONE, *STILL_THERE])
def test_who_left_or_joined_one_place_works_and_lives_there_no_more(earlier: str, later: str) -> None:
    found = related(earlier, later)
    is_gone = found is not None and found.relation == "replacement"
    assert is_gone == ((earlier, later) not in STILL_THERE)
    # A town may be left for a day, what is joined need be no work, and what somebody quit may be smoking: nothing is
    # ended by that alone.
    assert found is None or found.is_single_valued == ((earlier, later) in DEPARTED)
